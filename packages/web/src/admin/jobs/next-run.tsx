import { clock } from '../../clock.ts';
import { RelativeTime } from '../../components/relative-time.tsx';

/** When a job runs next. If that time has passed, the job is due: it waits for its host, or for the next check. */
export function NextRun({ at, enabled }: { at: string | null; enabled: boolean }) {
  if (!enabled) return 'never';
  if (at !== null && Date.parse(at) <= clock.nowMs()) return 'due now';
  return <RelativeTime at={at} never="not planned" />;
}
