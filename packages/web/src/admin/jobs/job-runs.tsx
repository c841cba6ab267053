import type { Job } from '@footlight/protocol/rest';
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
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { ShowMore, usePages } from '../frame/lists/paged-list.tsx';
import { Section } from '../frame/page-head.tsx';
import { resultLabel, runState, TRIGGER_LABELS } from './job-labels.ts';

const LIVE_MS = 2_000;
const CALM_MS = 10_000;
const PAGE = 25;
const COLUMNS: readonly Column[] = [
  { label: msg('State') },
  { label: msg('Started') },
  { label: msg('Took'), kind: 'number' },
  { label: msg('Requested by') },
  { label: msg('Result') },
];
const HOST_COLUMNS: readonly Column[] = [
  { label: msg('State') },
  { label: msg('Host') },
  ...COLUMNS.slice(1),
];

/**
 * Runs of a job, newest first.
 * @param props.live whether a run is in progress
 * @param props.hostId undefined: runs of all hosts
 */
export function JobRuns(props: {
  job: Job;
  live: boolean;
  hostId: string | undefined;
  onHost: (id: string) => void;
}) {
  const { job, hostId } = props;
  const { query, items } = usePages(
    adminKeys.jobRuns(job.id, hostId),
    (cursor: string | undefined, signal) =>
      call('admin.jobs.runs', {
        params: { job_id: job.id },
        query: { limit: PAGE, cursor, host_id: hostId },
        signal,
      }),
    { refetchMs: props.live ? LIVE_MS : CALM_MS },
  );
  const columns = job.targets === undefined ? COLUMNS : HOST_COLUMNS;
  const nameOf = (id: string | null) => job.targets?.find((target) => target.host_id === id)?.node_name;
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
        <DataTable
          label={t('Runs')}
          columns={columns.map((column) => ({ ...column, label: t(column.label) }))}
        >
          {items === undefined && <SkeletonRows rows={4} columns={columns.length} />}
          {items?.map((run) => {
            const [tone, label] = runState(run.state);
            return (
              <tr key={run.id}>
                <td>
                  <StateChip tone={tone}>{label}</StateChip>
                </td>
                {job.targets !== undefined && (
                  <td>
                    {run.host_id !== null && nameOf(run.host_id) !== undefined ? (
                      <Link to="/admin/hosts/$id" params={{ id: run.host_id }} className={styles.nameLink}>
                        {nameOf(run.host_id)}
                      </Link>
                    ) : (
                      <span className={styles.dim}>{t('deleted host')}</span>
                    )}
                  </td>
                )}
                <td>
                  <RelativeTime at={run.started_at} never={t('not yet')} />
                </td>
                <td className={styles.number}>
                  {run.duration_ms === null ? '' : millisecondsLabel(run.duration_ms)}
                </td>
                <td>{t(TRIGGER_LABELS[run.trigger])}</td>
                <td className={styles.wrapCell}>{resultLabel(run)}</td>
              </tr>
            );
          })}
        </DataTable>
      )}
      <ShowMore query={query} />
    </Section>
  );
}

/** In milliseconds, because most runs take less than a second. */
const millisecondsLabel = (ms: number): string => (ms < 1000 ? `${ms} ms` : durationLabel(ms));
