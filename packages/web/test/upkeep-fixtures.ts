import { type Job, type JobRun, type JobTarget, operations } from '@footlight/protocol/rest';
import { ago, host, id } from './fixtures.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A run that ended some time ago. */
export function jobRun(n: number, agoMs: number, part: Partial<JobRun> = {}): JobRun {
  return {
    id: id(20, n),
    host_id: null,
    state: 'succeeded',
    trigger: 'schedule',
    started_at: ago(agoMs + 120),
    finished_at: ago(agoMs),
    duration_ms: 120,
    summary: { deleted: n },
    error: null,
    ...part,
  };
}

const exampleJob = operations['admin.jobs.read'].example.response as Job;

/** A job of the instance with an interval. */
export function job(part: Partial<Job> = {}): Job {
  return {
    ...exampleJob,
    schedule: {
      ...exampleJob.schedule,
      window_start: null,
      window_end: null,
      window_days: [],
      timezone: 'UTC',
    },
    next_run_at: ago(-4 * HOUR),
    last_run: jobRun(17, 2 * HOUR),
    ...part,
  };
}

/** A job on a host. */
export function jobTarget(n: number, part: Partial<JobTarget> = {}): JobTarget {
  const { id: host_id, node_name } = host(n);
  return {
    host_id,
    node_name,
    running: false,
    next_run_at: ago(-2 * HOUR),
    last_run: jobRun(n, 4 * HOUR, { host_id, summary: { deleted: 2, kept: 1, failed: 0 } }),
    ...part,
  };
}

const { running: _r, next_run_at: _n, last_run: _l, consecutive_failures: _c, ...ofHosts } = job();

export const jobs: Job[] = [
  job({
    id: 'artwork.sweep',
    name: 'Artwork search',
    description: 'Looks up pictures for apps that have none.',
    schedule: {
      ...job().schedule,
      interval_secs: 900,
      locked: true,
      locked_by: 'SERVICE_ARTWORK_SWEEP_INTERVAL',
    },
    last_run: jobRun(3, 12 * MINUTE, {
      state: 'failed',
      summary: {},
      error: 'The provider answered 503 to three requests in a row.',
    }),
    consecutive_failures: 3,
    next_run_at: ago(-3 * MINUTE),
  }),
  job(),
  {
    ...ofHosts,
    id: 'home.gc',
    name: 'Home collection',
    description: 'Deletes homes whose grace is over.',
    plane: 'agent',
    scope: 'host',
    targets: [
      jobTarget(1),
      jobTarget(2, { running: true }),
      jobTarget(3, { last_run: jobRun(9, 5 * HOUR, { state: 'aborted', error: 'agent restarted' }) }),
    ],
  },
  job({
    id: 'library.discovery',
    name: 'Library discovery',
    description: 'Has hosts scan the homes of library apps for games.',
    enabled: false,
    next_run_at: null,
    last_run: null,
  }),
  job({
    id: 'telemetry.retain',
    name: 'Telemetry retention',
    description: 'Deletes samples and events of sessions that are too old.',
    schedule: {
      ...job().schedule,
      interval_secs: 300,
      window_start: '02:00:00',
      window_end: '05:30:00',
      window_days: [0, 6],
    },
    running: true,
  }),
  {
    ...ofHosts,
    id: 'session.start_watchdog',
    name: 'Start watchdog',
    description: 'Ends sessions that do not start in time.',
    managed: false,
    schedule: { ...job().schedule, kind: 'event', interval_secs: null },
    unmanaged_note: 'Ends sessions that do not start in time.',
  },
];

/** Runs of a job, newest first. */
export const jobRuns: JobRun[] = Array.from({ length: 40 }, (_none, n) =>
  n === 2
    ? jobRun(n, 6 * HOUR, {
        state: 'failed',
        error: 'The disk is full: 0 bytes are free on /var/lib.',
        summary: {},
      })
    : n === 4
      ? jobRun(n, 10 * HOUR, { state: 'deferred', summary: { reason: 'live sessions' }, trigger: 'manual' })
      : jobRun(n, (n + 1) * 2 * HOUR, n === 0 ? { duration_ms: 64_000 } : {}),
);
