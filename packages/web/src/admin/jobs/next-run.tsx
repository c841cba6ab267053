import { clock } from '../../clock.ts';
import { RelativeTime } from '../../components/relative-time.tsx';

/**
 * The time of the next run. If this time has passed, the job is due, and waits for its host or for the next search for
 * due runs.
 */
export function NextRun({ at, enabled }: { at: string | null; enabled: boolean }) {
  if (!enabled) return 'never';
  if (at !== null && Date.parse(at) <= clock.nowMs()) return 'due now';
  return <RelativeTime at={at} never="not planned" />;
}
