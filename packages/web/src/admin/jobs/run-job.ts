import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { countLabel } from '../frame/quantity-labels.ts';

/** Where a run is asked for: the instance, or hosts. */
interface RunRequest {
  id: string;
  name: string;
  /** Empty: a job of the instance. */
  hostIds: readonly string[];
}

/** Queues a run at once and says when it will start, in the words of the service. */
export function useRunJob() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, hostIds }: RunRequest) => {
      const bodies = hostIds.length === 0 ? [{}] : hostIds.map((host_id) => ({ host_id }));
      let note = '';
      for (const body of bodies)
        note = (await call('admin.jobs.run', { params: { job_id: id }, body })).eta_note;
      return note;
    },
    onMutate: () => notifications.clean(),
    onSuccess: (note, { name, hostIds }) => {
      const where = hostIds.length > 1 ? ` on ${countLabel(hostIds.length, 'host')}` : '';
      notifications.show({ message: `${name} was asked for${where}. ${note}`, autoClose: 8000 });
    },
    // Of several hosts some may have been asked before one refused.
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.jobs }),
  });
}
