import { clock } from '../../clock.ts';
import { RelativeTime } from '../../components/relative-time.tsx';

/** When a job runs next. A time that has passed is not over: the job waits for its host, or for the next look. */
export function NextRun({ at, enabled }: { at: string | null; enabled: boolean }) {
  if (!enabled) return 'never';
  if (at !== null && Date.parse(at) <= clock.nowMs()) return 'due now';
  return <RelativeTime at={at} never="not planned" />;
}
