import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { plural, t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Target of a requested run: the instance, or hosts. */
interface RunRequest {
  id: string;
  name: string;
  /** Empty: the job belongs to the instance. */
  hostIds: readonly string[];
}

/** Queues a run at once. The answer of the service says when the run will start. */
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
      const message =
        hostIds.length > 1
          ? plural(
              hostIds.length,
              '{name} was requested on {n} host. {note}',
              '{name} was requested on {n} hosts. {note}',
              { name, note },
            )
          : t('{name} was requested. {note}', { name, note });
      notifications.show({ message, autoClose: 8000 });
    },
    // Also after a refusal, because runs for some of several hosts may already be queued.
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.jobs }),
  });
}
