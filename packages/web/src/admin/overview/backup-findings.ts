import type { Backup, Job } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';
import type { Finding } from './findings.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A daily backup may be a few hours late, for example because the service was stopped. */
const STALE_MS = 2 * DAY_MS;

/**
 * Whether a fresh, verified backup is missing, although a schedule makes backups. Pure. A failed run is a finding of
 * its own (upkeepFindings).
 * @param job undefined: the service has no such job
 * @param backups newest first
 */
export function backupFindings(job: Job | undefined, backups: readonly Backup[], nowMs: number): Finding[] {
  // A new instance has no backup until the first run, and without a schedule administrators decide about backups.
  if (job === undefined || !job.enabled || !job.schedule.interval_secs || job.last_run == null) return [];
  const newest = backups.find(({ verified }) => verified);
  const ageMs = newest === undefined ? null : nowMs - Date.parse(newest.created_at);
  if (ageMs !== null && ageMs <= STALE_MS) return [];
  return [
    {
      key: 'backups:stale',
      tone: 'warning',
      title:
        ageMs === null
          ? t('There is no verified backup')
          : plural(
              Math.floor(ageMs / DAY_MS),
              'The newest verified backup is {n} day old',
              'The newest verified backup is {n} days old',
            ),
      text: t('If the database is lost now, later changes cannot be restored.'),
      remediation: [],
      hostId: null,
      link: { to: '/admin/backups', label: t('Open backups') },
    },
  ];
}
