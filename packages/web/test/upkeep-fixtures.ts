import {
  type ActivityEntry,
  type AdminApp,
  type Backup,
  type CatalogImage,
  type ImageCatalog,
  type Job,
  type JobRun,
  type JobTarget,
  type LibraryRule,
  type LibraryStatus,
  operations,
  type StorageHome,
  type UnpublishedTitle,
} from '@footlight/protocol/rest';
import { ago, app, host, id } from './fixtures.ts';

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

/** The job that makes backups. */
export function backupJob(part: Partial<Job> = {}): Job {
  return job({
    id: 'database.backup',
    name: 'Backup',
    description: 'Saves the database to a file, checks the file, and deletes the oldest backups.',
    schedule: { ...job().schedule, interval_secs: 86_400 },
    ...part,
  });
}

const exampleBackup = operations['admin.backups.list'].example.response.items[0] as Backup;

/** A verified backup. */
export const backup = (part: Partial<Backup> = {}): Backup => ({ ...exampleBackup, ...part });

/** Backups, newest first. */
export const backups: Backup[] = [
  backup({
    name: 'footlight-20260604-030004.sqlite',
    created_at: ago(2 * HOUR),
    verified: false,
    release: null,
  }),
  backup({
    name: 'footlight-20260603-174500-manual.sqlite',
    created_at: ago(9 * HOUR),
    reason: 'manual',
  }),
  backup({
    name: 'footlight-20260520-120000-before-0002-session-order.sqlite',
    created_at: ago(14 * 24 * HOUR),
    reason: 'before-0002-session-order',
    bytes: 2_129_920,
  }),
];

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
    name: 'Deletion of homes',
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
    name: 'Old measurements',
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
    name: 'Start time limit',
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

const exampleImage = operations['images.update'].example.response.image as CatalogImage;

/** The state of an image on a host. */
export function onHost(
  n: number,
  part: Partial<CatalogImage['hosts'][number]> = {},
): CatalogImage['hosts'][number] {
  const { id: host_id, node_name } = host(n);
  return {
    host_id,
    node_name,
    version: '1.4.0',
    state: 'ready',
    progress_pct: null,
    error: null,
    bytes: 734_003_200,
    ...part,
  };
}

/** An installed image that all hosts have. */
export function image(part: Partial<CatalogImage> = {}): CatalogImage {
  return { ...exampleImage, hosts: [onHost(1), onHost(2), onHost(3)], ...part };
}

const absent = { state: 'absent', version: null, bytes: null } as const;

export const imageCatalog: ImageCatalog = {
  ...(operations['images.list'].example.response as ImageCatalog),
  fetched_at: ago(3 * HOUR),
  images: [
    image({
      id: 'desktop',
      display_name: 'Desktop with an office suite',
      description: 'Writer, Calc and a browser on a light desktop.',
      version: '2.1.0',
      installed_version: '2.0.3',
      update_available: true,
      pinned: true,
      hosts: [
        onHost(1, { version: '2.0.3' }),
        onHost(2, { version: '2.0.3', bytes: 3_221_225_472 }),
        onHost(3, absent),
      ],
    }),
    image({
      hosts: [
        onHost(1, { ...absent, state: 'pulling', progress_pct: 62 }),
        onHost(2),
        onHost(3, {
          ...absent,
          state: 'failed',
          error: 'The registry refused the digest: manifest unknown (tried three times).',
        }),
      ],
    }),
    image({
      id: 'steam',
      display_name: 'Steam',
      description: 'The launcher, in which people install games into their homes.',
      kind: 'template',
      registry_ref: null,
      registry_digest: null,
      library_provider: 'steam',
      installed: false,
      installed_version: null,
      runtime_preset_id: null,
      hosts: [onHost(1, absent), onHost(2, absent), onHost(3, absent)],
    }),
  ],
};

/** A home that is not marked for deletion. */
export function home(n: number, part: Partial<StorageHome> = {}): StorageHome {
  return {
    id: id(21, n),
    user_id: id(9, n),
    username: ['alice', 'bob', 'christopher-with-a-long-name'][n % 3] ?? 'alice',
    app_id: id(1, n),
    app_name: ['SuperTux', 'Steam', 'A desktop for everything that people do all day'][n % 3] ?? 'SuperTux',
    host_id: host(1).id,
    host_name: host(1).node_name,
    provider: 'local',
    ref: `/srv/homes/alice-7f9c24e8/supertux-5a4f3c5${n}`,
    bytes_used: 73_400_320 * (n + 1) ** 2,
    created_at: ago(90 * 24 * HOUR),
    last_used_at: ago((n + 1) * 5 * HOUR),
    gc_after: null,
    ...part,
  };
}

export const homes: StorageHome[] = [
  home(0),
  home(1),
  home(2, { gc_after: ago(3 * HOUR) }),
  home(3, { user_id: null, username: null, gc_after: ago(2 * HOUR) }),
  home(4, { bytes_used: 0 }),
];

export const libraryStatus: LibraryStatus = {
  ...(operations['library.status'].example.response as unknown as LibraryStatus),
  last_scan_completed_at: ago(40 * MINUTE),
  recent_scans: [
    { ...operations['library.status'].example.response.recent_scans[0]!, completed_at: ago(40 * MINUTE) },
    {
      ...operations['library.status'].example.response.recent_scans[0]!,
      user: 'bob',
      completed_at: ago(2 * HOUR),
      state: 'failed',
      error: 'The directory of the home is not there.',
    },
  ] as LibraryStatus['recent_scans'],
};

/** The app in which people install games. */
export const launcher: AdminApp = app(1, {
  name: 'Steam',
  kind: 'launcher',
  library_provider: 'steam',
  parent_app_id: null,
});

export const unpublished: UnpublishedTitle[] = [
  {
    external_source: 'steam',
    external_id: '228980',
    name: 'Steamworks Common Redistributables',
    suppressed_by: 'builtin_appid',
    users: 3,
    last_seen_at: ago(40 * MINUTE),
    has_tile: false,
  },
  {
    external_source: 'steam',
    external_id: '440',
    name: 'Team Fortress 2',
    suppressed_by: 'other',
    users: 1,
    last_seen_at: ago(2 * HOUR),
    has_tile: true,
  },
];

export const libraryRules: LibraryRule[] = [
  {
    external_source: 'steam',
    external_id: '570',
    rule: 'ignore',
    note: 'Not at the office',
    created_by: id(9, 1),
    created_at: ago(30 * HOUR),
  },
];

const exampleEntry = operations['activity.list'].example.response.items[0] as ActivityEntry;
const entry = (n: number, part: Partial<ActivityEntry>): ActivityEntry => ({
  ...exampleEntry,
  id: 100 - n,
  created_at: ago(n * 40 * MINUTE),
  ...part,
});

/** Entries of the activity log, newest first. */
export const activity: ActivityEntry[] = [
  entry(1, {
    action: 'session.launched',
    target_type: 'session',
    target_id: id(2, 1),
    details: { app_id: launcher.id, host_id: host(1).id },
    severity: 'info',
  }),
  entry(2, {
    action: 'session.failed',
    target_type: 'session',
    target_id: id(2, 2),
    actor_user_id: null,
    actor_username: null,
    details: { failure_code: 'app_exited', reason: 'The app ended with status 3.', host_id: host(2).id },
    severity: 'err',
  }),
  entry(3, {
    action: 'job.run',
    target_type: 'job',
    target_id: 'home.gc',
    details: { run_id: id(20, 1) },
    severity: 'info',
  }),
  entry(4, {
    action: 'storage.home.tombstone',
    target_type: 'storage_home',
    target_id: id(21, 1),
    details: { username: 'bob', app_name: 'Steam' },
  }),
  entry(5, {}),
  entry(6, { action: 'user.password_reset_link', target_type: 'user', target_id: id(9, 1), details: {} }),
];
