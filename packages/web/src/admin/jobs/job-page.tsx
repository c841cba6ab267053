import type { Job, JobRun, JobTarget } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import type { ListSearch } from '../../search/list-search.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { AbsentRecord } from '../frame/record-page.tsx';
import { JobForm } from './job-form.tsx';
import { runState, scheduleLabel, standingOf } from './job-labels.ts';
import { JobRuns, useWaitingRuns } from './job-runs.tsx';
import { translatedJob } from './job-texts.ts';
import { placeLabel } from './jobs-page.tsx';
import { NextRun } from './next-run.tsx';
import { useRunJob } from './run-job.ts';

const back = () => ({ to: '/admin/jobs', label: t('Jobs') }) as const;
/**
 * Refresh interval. A run lasts seconds on the control plane, so a person sees its start and its end. Chosen, not
 * measured.
 */
const REFRESH_MS = 2_000;
const targetColumns = (
  job: Job,
  run: ReturnType<typeof useRunJob>,
  waiting: readonly JobRun[],
): readonly Column<JobTarget>[] => [
  {
    head: msg('Host'),
    kind: 'name',
    cell: (target) => (
      <Link to="/admin/hosts/$id" params={{ id: target.host_id }} className={styles.nameLink}>
        {target.node_name}
      </Link>
    ),
  },
  {
    head: msg('State'),
    cell: (target) => {
      const state = target.running ? 'running' : target.last_run?.state;
      const [tone, label] =
        !target.running && waiting.some(({ host_id }) => host_id === target.host_id)
          ? (['info', t('Requested, waits for the host')] as const)
          : state === undefined
            ? (['neutral', t('Has not run yet')] as const)
            : runState(state);
      return <StateChip tone={tone}>{label}</StateChip>;
    },
  },
  { head: msg('Last run'), cell: (target) => <RelativeTime at={target.last_run?.finished_at ?? null} /> },
  { head: msg('Next run'), cell: (target) => <NextRun at={target.next_run_at} job={job} /> },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (target) => (
      <Button
        size="compact-sm"
        variant="subtle"
        aria-label={t('Run {job} on {host} now', { job: job.name, host: target.node_name })}
        disabled={!job.enabled || target.running || run.isPending}
        onClick={() => run.mutate({ id: job.id, name: job.name, hosts: [target] })}
      >
        {t('Run now')}
      </Button>
    ),
  },
];

export type JobSearch = ListSearch<'host'>;

/** One job: its task, its schedule, and its runs. */
export function JobPage(props: { id: string; search: JobSearch; onSearch: (search: JobSearch) => void }) {
  const query = useQuery({
    queryKey: adminKeys.job(props.id),
    queryFn: ({ signal }) => call('admin.jobs.read', { params: { job_id: props.id }, signal }),
    select: translatedJob<Job>,
    refetchInterval: REFRESH_MS,
  });
  usePageTitle(query.data?.name ?? t('Job'));
  if (query.data === undefined) return <AbsentRecord label={t('Job')} back={back()} query={query} />;
  return <LoadedJob job={query.data} search={props.search} onSearch={props.onSearch} />;
}

function LoadedJob(props: { job: Job; search: JobSearch; onSearch: (search: JobSearch) => void }) {
  const { job, search, onSearch } = props;
  const run = useRunJob();
  const standing = standingOf(job);
  const hosts = job.targets ?? [];
  // The record of a job does not contain requested runs; its history does.
  const waiting = useWaitingRuns(job);
  const isWaiting = waiting.length > 0 && !standing.running;
  return (
    <>
      <PageHead
        title={job.name}
        lead={job.description}
        back={back()}
        actions={
          job.managed && (
            <Button
              variant="filled"
              disabled={!job.enabled || standing.running || job.targets?.length === 0}
              loading={run.isPending}
              onClick={() => run.mutate({ id: job.id, name: job.name, hosts })}
            >
              {job.targets === undefined
                ? t('Run now')
                : plural(hosts.length, 'Run now on {n} host', 'Run now on {n} hosts')}
            </Button>
          )
        }
      />
      {run.isError && <Problem error={run.error} />}
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>{t('State')}</dt>
          <dd>
            {isWaiting && !standing.failing ? (
              <StateChip tone="info">
                {job.targets === undefined ? t('Requested, starts soon') : t('Requested, waits for a host')}
              </StateChip>
            ) : (
              <StateChip tone={standing.tone}>{standing.label}</StateChip>
            )}
          </dd>
          <dt>{t('Schedule')}</dt>
          <dd>{scheduleLabel(job.schedule)}</dd>
          {job.managed && (
            <>
              <dt>{t('Last run')}</dt>
              <dd>
                <RelativeTime at={standing.lastRun?.finished_at ?? null} />
              </dd>
              <dt>{t('Next run')}</dt>
              <dd>
                <NextRun at={standing.nextRunAt} job={job} />
              </dd>
            </>
          )}
          <dt>{t('Who does it')}</dt>
          <dd>{placeLabel(job)}</dd>
          <dt>{t('Id')}</dt>
          <dd className={styles.mono}>{job.id}</dd>
        </dl>
      </div>
      {job.targets !== undefined && (
        <Section title={t('Hosts')}>
          {job.targets.length === 0 && <p className={styles.dim}>{t('No host has enrolled yet.')}</p>}
          {job.targets.length > 0 && (
            <ListTable
              label={t('Hosts of the job')}
              columns={targetColumns(job, run, waiting)}
              rows={job.targets}
              rowKey={(target) => target.host_id}
            />
          )}
        </Section>
      )}
      {job.managed && (
        <Section title={t('When it runs')}>
          <JobForm key={JSON.stringify([job.enabled, job.schedule, job.history_limit])} job={job} />
        </Section>
      )}
      {job.managed && (
        <JobRuns
          job={job}
          live={standing.running || (isWaiting && job.targets === undefined)}
          hostId={search.host}
          onHost={(host) => onSearch(host === '' ? {} : { host })}
        />
      )}
    </>
  );
}
