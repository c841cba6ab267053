import type { Job } from '@footlight/protocol/rest';
import { clock } from '../../clock.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { t } from '../../i18n/translate.ts';

/**
 * The time of the next run. If this time has passed, the job is due, and waits for its host or for the next search for
 * due runs.
 */
export function NextRun({ at, job }: { at: string | null; job: Pick<Job, 'enabled' | 'schedule'> }) {
  if (!job.enabled) return t('never');
  if (job.schedule.kind === 'event') return t('when needed');
  if (at !== null && Date.parse(at) <= clock.nowMs()) return t('due now');
  return <RelativeTime at={at} never={t('not planned')} />;
}
