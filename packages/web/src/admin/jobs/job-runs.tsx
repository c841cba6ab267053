import type { Job, JobRun, JobTarget } from '@footlight/protocol/rest';
import { NativeSelect } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { durationLabel } from '../../i18n/duration-labels.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { ShowMore, usePages } from '../frame/lists/paged-list.tsx';
import { Section } from '../frame/page-head.tsx';
import { resultLabel, runState, TRIGGER_LABELS } from './job-labels.ts';

const LIVE_MS = 2_000;
const CALM_MS = 10_000;
const PAGE = 25;
const STATE: Column<JobRun> = {
  head: msg('State'),
  cell: (run) => {
    const [tone, label] = runState(run.state);
    return <StateChip tone={tone}>{label}</StateChip>;
  },
};
const hostColumn = (targets: readonly JobTarget[]): Column<JobRun> => ({
  head: msg('Host'),
  cell: (run) => {
    const target = targets.find(({ host_id }) => host_id === run.host_id);
    return target === undefined ? (
      <span className={styles.dim}>{t('deleted host')}</span>
    ) : (
      <Link to="/admin/hosts/$id" params={{ id: target.host_id }} className={styles.nameLink}>
        {target.node_name}
      </Link>
    );
  },
});
const COLUMNS: readonly Column<JobRun>[] = [
  { head: msg('Started'), cell: (run) => <RelativeTime at={run.started_at} never={t('not yet')} /> },
  {
    head: msg('Took'),
    kind: 'number',
    cell: (run) => (run.duration_ms === null ? '' : millisecondsLabel(run.duration_ms)),
  },
  { head: msg('Requested by'), cell: (run) => t(TRIGGER_LABELS[run.trigger]) },
  { head: msg('Result'), kind: 'wrap', cell: resultLabel },
];

const useRuns = (jobId: string, hostId: string | undefined, refetchMs: number, enabled = true) =>
  usePages(
    adminKeys.jobRuns(jobId, hostId),
    (cursor: string | undefined, signal) =>
      call('admin.jobs.runs', {
        params: { job_id: jobId },
        query: { limit: PAGE, cursor, host_id: hostId },
        signal,
      }),
    { refetchMs, enabled },
  );

/** The newest runs that administrators requested and that have not started. A job that is only listed has no runs. */
export function useWaitingRuns({ id, managed }: Pick<Job, 'id' | 'managed'>): readonly JobRun[] {
  const { items = [] } = useRuns(id, undefined, CALM_MS, managed);
  return items.filter(({ state, trigger }) => state === 'pending' && trigger === 'manual');
}

/**
 * Runs of a job, newest first.
 * @param props.live whether a run is in progress, or starts soon
 * @param props.hostId undefined: runs of all hosts
 */
export function JobRuns(props: {
  job: Job;
  live: boolean;
  hostId: string | undefined;
  onHost: (id: string) => void;
}) {
  const { job, hostId } = props;
  const { query, items } = useRuns(job.id, hostId, props.live ? LIVE_MS : CALM_MS);
  return (
    <Section
      title={t('History')}
      busy={query.isPending}
      actions={
        job.targets !== undefined &&
        job.targets.length > 1 && (
          <NativeSelect
            aria-label={t('Host')}
            data={[
              { value: '', label: t('On all hosts') },
              ...job.targets.map(({ host_id, node_name }) => ({ value: host_id, label: node_name })),
            ]}
            value={hostId ?? ''}
            onChange={(event) => props.onHost(event.currentTarget.value)}
          />
        )
      }
    >
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconHistory} title={t('It has not run yet')}>
          {plural(job.history_limit, 'The last {n} run is kept here.', 'The last {n} runs are kept here.')}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Runs')}
          columns={[STATE, ...(job.targets === undefined ? [] : [hostColumn(job.targets)]), ...COLUMNS]}
          rows={items}
          rowKey={(run) => run.id}
          loadingRows={4}
        />
      )}
      <ShowMore query={query} />
    </Section>
  );
}

/** In milliseconds, because most runs take less than a second. */
const millisecondsLabel = (ms: number): string => (ms < 1000 ? `${ms} ms` : durationLabel(ms));
