import type { Job } from '@footlight/protocol/rest';
import { Link } from '@tanstack/react-router';
import { clock } from '../../clock.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { plural, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { standingOf } from '../jobs/job-labels.ts';

const isDue = (at: string | null): boolean => at !== null && Date.parse(at) <= clock.nowMs();

/**
 * Jobs that run, have failed or are switched off. All other jobs are only counted.
 * @param props.jobs undefined while loading
 */
export function JobStrip({ jobs }: { jobs: readonly Job[] | undefined }) {
  if (jobs === undefined) return <Skeleton width={240} height={20} />;
  const managed = jobs.filter((job) => job.managed).map((job) => ({ job, standing: standingOf(job) }));
  const told = managed.filter(({ job, standing }) => standing.running || standing.failing || !job.enabled);
  const [next] = managed
    .filter(({ job, standing }) => job.enabled && standing.nextRunAt !== null)
    .sort((a, b) => (a.standing.nextRunAt ?? '').localeCompare(b.standing.nextRunAt ?? ''));
  return (
    <ul className={styles.jobStrip}>
      {told.map(({ job, standing }) => (
        <li key={job.id}>
          <Link to="/admin/jobs/$id" params={{ id: job.id }} className={styles.nameLink}>
            {job.name}
          </Link>
          <StateChip tone={standing.tone}>{standing.label}</StateChip>
        </li>
      ))}
      <li className={styles.dim}>
        {plural(managed.length - told.length, '{n} job without problems.', '{n} jobs without problems.')}
        {next !== undefined && (
          <span>
            {rich('Next: {job}, {time}', {
              job: next.job.name,
              time: isDue(next.standing.nextRunAt) ? (
                t('due now')
              ) : (
                <RelativeTime key="time" at={next.standing.nextRunAt} />
              ),
            })}
          </span>
        )}
      </li>
    </ul>
  );
}
