import type { JobTarget } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Target of a requested run: the instance, or hosts. */
interface RunRequest {
  id: string;
  name: string;
  /** Empty: the job belongs to the instance. */
  hosts: readonly Pick<JobTarget, 'host_id' | 'node_name'>[];
}

/** When a run starts, as the server says it (control-plane/src/jobs/job-admin.ts). */
export const ETA_NOTES = [
  msg('Starts within about 10 s.'),
  msg('The host claims due jobs about every 60 s.'),
  msg('Jobs are switched off on this instance (SERVICE_JOBS): the run waits until they are switched on.'),
] as const;
const [, AGENT_NOTE] = ETA_NOTES;

/** The message after a request: on which hosts, and when the run starts. */
export function requestedLabel(note: string, { name, hosts }: Pick<RunRequest, 'name' | 'hosts'>): string {
  const [first] = hosts;
  if (first === undefined) return t('{name} was requested. {note}', { name, note: t(note) });
  if (hosts.length === 1)
    return t('{name} was requested on {host}. {note}', { name, host: first.node_name, note: t(note) });
  return plural(
    hosts.length,
    '{name} was requested on {n} host. {note}',
    '{name} was requested on {n} hosts. {note}',
    { name, note: note === AGENT_NOTE ? t('Each host claims due jobs about every 60 s.') : t(note) },
  );
}

/** Queues a run at once. The answer of the service says when the run will start. */
export function useRunJob() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, hosts }: RunRequest) => {
      const bodies = hosts.length === 0 ? [{}] : hosts.map(({ host_id }) => ({ host_id }));
      let note = '';
      for (const body of bodies)
        note = (await call('admin.jobs.run', { params: { job_id: id }, body })).eta_note;
      return note;
    },
    onMutate: () => notifications.clean(),
    onSuccess: (note, request) => {
      notifications.show({ message: requestedLabel(note, request), autoClose: 8000 });
    },
    // If a request is refused, runs of other hosts may already be queued, so the jobs are loaded again too.
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.jobs }),
  });
}
