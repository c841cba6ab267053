import type { Job } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconCircleCheck, IconClock, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import type { ListSearch } from '../../search/list-search.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { SearchField } from '../frame/lists/paged-list.tsx';
import { PageHead } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { type JobStanding, scheduleLabel, standingOf } from './job-labels.ts';
import { translatedJob } from './job-texts.ts';
import { NextRun } from './next-run.tsx';
import { useRunJob } from './run-job.ts';

/** Largest page size of the server. One page is enough, because there are a few dozen jobs. */
const MAX = 500;
/**
 * Refresh interval. A run lasts seconds on the control plane, so a person sees its start and its end. Chosen, not
 * measured.
 */
const REFRESH_MS = 2_000;

interface Row {
  job: Job;
  standing: JobStanding;
}

const columns = (run: ReturnType<typeof useRunJob>): readonly Column<Row>[] => [
  {
    head: msg('Job'),
    kind: 'name',
    sort: 'name',
    by: ({ job }) => job.name,
    cell: ({ job }) => (
      <div className={styles.described}>
        <Link to="/admin/jobs/$id" params={{ id: job.id }} className={styles.nameLink}>
          {job.name}
        </Link>
        <span>{job.description}</span>
      </div>
    ),
  },
  {
    head: msg('State'),
    sort: 'state',
    by: ({ standing }) => standing.label,
    cell: ({ standing }) => <StateChip tone={standing.tone}>{standing.label}</StateChip>,
  },
  {
    head: msg('Schedule'),
    kind: 'short',
    title: ({ job }) => scheduleLabel(job.schedule),
    cell: ({ job }) => scheduleLabel(job.schedule),
  },
  {
    head: msg('Last run'),
    sort: 'last',
    by: ({ standing }) => standing.lastRun?.finished_at ?? null,
    cell: ({ standing }) => <RelativeTime at={standing.lastRun?.finished_at ?? null} />,
  },
  {
    head: msg('Next run'),
    sort: 'next',
    by: ({ job, standing }) => (job.schedule.kind === 'event' ? null : standing.nextRunAt),
    cell: ({ job, standing }) => <NextRun at={standing.nextRunAt} job={job} />,
  },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: ({ job, standing }) => (
      <Button
        size="compact-sm"
        variant="subtle"
        aria-label={t('Run {job} now', { job: job.name })}
        disabled={!job.enabled || standing.running || job.targets?.length === 0}
        loading={run.isPending && run.variables.id === job.id}
        onClick={() =>
          run.mutate({
            id: job.id,
            name: job.name,
            hosts: job.targets ?? [],
          })
        }
      >
        {t('Run now')}
      </Button>
    ),
  },
];
const LISTED_COLUMNS: readonly Column<Row>[] = [
  { head: msg('Work'), kind: 'name', title: ({ job }) => job.id, cell: ({ job }) => job.name },
  { head: msg('What it does'), kind: 'wrap', cell: ({ job }) => job.unmanaged_note ?? job.description },
  { head: msg('Who does it'), cell: ({ job }) => placeLabel(job) },
];

const FILTERS = [
  { value: 'all', label: msg('All') },
  { value: 'failing', label: msg('Failing') },
  { value: 'running', label: msg('Running') },
  { value: 'off', label: msg('Switched off') },
] as const;
type Filter = (typeof FILTERS)[number]['value'];
/** What a filter shows if it matches no job and there is no search text. */
const NONE: Partial<Record<Filter, { icon: typeof IconSearch; title: string; text: string }>> = {
  failing: {
    icon: IconCircleCheck,
    title: msg('No job fails'),
    text: msg('The last run of every job went well.'),
  },
  running: {
    icon: IconClock,
    title: msg('No job is running now'),
    text: msg('A job appears here while it runs.'),
  },
  off: {
    icon: IconCircleCheck,
    title: msg('No job is switched off'),
    text: msg('Every job is switched on.'),
  },
};

export type JobsSearch = ListSearch<'q' | 'state' | 'sort'>;

/** All background jobs, refreshed while the page is visible. */
export function useJobs() {
  return useQuery({
    queryKey: adminKeys.jobList,
    queryFn: ({ signal }) => call('admin.jobs.list', { query: { limit: MAX }, signal }),
    select: translatedJobs,
    refetchInterval: REFRESH_MS,
  });
}

const translatedJobs = ({ items }: { items: Job[] }) => ({ items: items.map(translatedJob) });

/** Background jobs, and other work that is only listed. */
export function JobsPage(props: { search: JobsSearch; onSearch: (search: JobsSearch) => void }) {
  usePageTitle(t('Jobs'));
  const { search, onSearch } = props;
  const query = useJobs();
  const run = useRunJob();
  const jobs = query.data?.items;
  const state = FILTERS.find((filter) => filter.value === search.state)?.value ?? 'all';
  // With a search text, an empty list does not mean that no job fails.
  const none = (search.q ?? '') === '' ? NONE[state] : undefined;
  const text = (search.q ?? '').toLowerCase();
  const rows = jobs
    ?.map((job): Row => ({ job, standing: standingOf(job) }))
    .filter(({ job }) => `${job.name} ${job.id} ${job.description}`.toLowerCase().includes(text));
  const managed = rows?.filter((row) => row.job.managed && fits(row, state));
  const listed = rows?.filter((row) => !row.job.managed);
  return (
    <>
      <PageHead title={t('Jobs')} lead={t('Work that the service and its hosts do in the background.')} />
      <div className={styles.filters}>
        <SegmentedChoice
          label={t('State')}
          value={state}
          options={FILTERS.map((option) => ({ ...option, label: t(option.label) }))}
          onChange={(next) => onSearch({ ...search, state: next })}
        />
        <SearchField
          label={t('Find a job')}
          hint={t('Name or purpose')}
          value={search.q ?? ''}
          onChange={(q) => onSearch({ ...search, q })}
        />
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {run.isError && <Problem error={run.error} />}
      {managed?.length === 0 ? (
        <EmptyState icon={none?.icon ?? IconSearch} title={t(none?.title ?? msg('No such job'))}>
          {t(none?.text ?? msg('No job matches the filter and the search text.'))}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Jobs')}
          columns={columns(run)}
          rows={managed}
          rowKey={({ job }) => job.id}
          order={{ sort: search.sort, onSort: (sort) => onSearch({ ...search, sort: sort ?? '' }) }}
          loadingRows={8}
        />
      )}
      {listed !== undefined && listed.length > 0 && (
        <Disclosure label={t('Other work of the service ({n})', { n: listed.length })}>
          <p className={styles.dim}>
            {t('The service starts this work itself when it is needed. You cannot start or change it here.')}
          </p>
          <ListTable
            label={t('Other work')}
            columns={LISTED_COLUMNS}
            rows={listed}
            rowKey={({ job }) => job.id}
          />
        </Disclosure>
      )}
    </>
  );
}

function fits({ job, standing }: Row, filter: Filter): boolean {
  if (filter === 'failing') return standing.failing;
  if (filter === 'running') return standing.running;
  return filter === 'all' || !job.enabled;
}

/** Where a job runs: on the control plane or on hosts. */
export function placeLabel({ plane, scope }: Pick<Job, 'plane' | 'scope'>): string {
  if (plane === 'agent') return t('The agent of each host');
  return scope === 'host' ? t('This service, for each host') : t('This service');
}
