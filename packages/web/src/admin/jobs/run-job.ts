import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { countLabel } from '../frame/quantity-labels.ts';

/** Where a run is requested: for the instance, or on hosts. */
interface RunRequest {
  id: string;
  name: string;
  /** Empty: a job of the instance. */
  hostIds: readonly string[];
}

/** Queues a run at once. The service's answer says when it will start. */
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
    // With several hosts, some runs may already be queued when one is refused.
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.jobs }),
  });
}
