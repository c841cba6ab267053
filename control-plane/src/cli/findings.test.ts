import { DAY_MS, HOUR_MS } from '@footlight/platform';
import { type Operation, type OperationId, operations, type Success } from '@footlight/protocol/rest';
import { expect, test } from 'vitest';
import { type AdminSession, judgeOverview, type Overview } from './findings.ts';

const NOW_MS = Date.parse('2026-11-20T12:00:00.000Z');
const at = (ageMs: number) => new Date(NOW_MS - ageMs).toISOString();
const example = <Id extends OperationId>(id: Id) =>
  (operations[id] as Operation).example?.response as Success<Id>;

const host = example('hosts.list').items[0]!;
const job = example('admin.jobs.list').items[0]!;
const run = { ...job.last_run!, state: 'succeeded' as const, error: null };
const backupJob = {
  ...job,
  id: 'database.backup',
  enabled: true,
  schedule: { ...job.schedule, interval_secs: 86_400 },
  last_run: run,
};
delete backupJob.targets;
const backup = { ...example('admin.backups.list').items[0]!, verified: true };
const session = {
  ...example('admin.sessions.list').items[0]!,
  state: 'failed',
  error_message: 'The app crashed.',
  failure_code: 'app_crashed',
} as AdminSession;
const access = example('access.check');

const well: Overview = {
  fleet: { hosts: { online: 2, draining: 0, offline: 0 }, slots: { total: 4, used: 1 } },
  hosts: [],
  activeSessions: [],
  failedSessions: [],
  jobs: [backupJob],
  backups: [{ ...backup, created_at: at(HOUR_MS) }],
  webhook: { ...example('admin.webhook.status'), oldest_at: null, waiting: 0 },
  access: { ...access, certificate: { in_use: false } },
  clockOffsetMs: 400,
};
const certificate = (days: number) => ({
  ...access,
  certificate: { ...access.certificate, info: { ...access.certificate.info!, days_until_expiry: days } },
});
const titles = (part: Partial<Overview>) =>
  judgeOverview({ ...well, ...part }, NOW_MS).map(({ area, level, title }) => `${area} ${level}: ${title}`);

test('an instance that is well has no findings', () => {
  expect(titles({})).toEqual([]);
  expect(titles({ access: certificate(14) })).toEqual([]);
});

test.each<[string, Partial<Overview>, string[]]>([
  [
    'a slow clock',
    { clockOffsetMs: 90_000 },
    ["clock warning: The clock of this machine is 90 s behind the control plane's."],
  ],
  [
    'a fast clock',
    { clockOffsetMs: -90_000 },
    ["clock warning: The clock of this machine is 90 s ahead of the control plane's."],
  ],
  [
    'an expired certificate',
    { access: certificate(-1) },
    ['certificate fault: The certificate has expired.'],
  ],
  [
    'a certificate that ends',
    { access: certificate(0) },
    ['certificate warning: The certificate expires in 1 days.'],
  ],
  ['an offline host', { hosts: [{ ...host, status: 'offline' }] }, ['hosts warning: node-1 is offline.']],
  [
    'a host without capacity',
    { hosts: [{ ...host, capacity_detection: 'failed', capacity_reason: 'No encoder works.' }] },
    ['hosts fault: node-1 takes no sessions: No encoder works.'],
  ],
  [
    'a failed readiness check',
    {
      hosts: [
        {
          ...host,
          readiness: [{ id: 'gpu_driver', status: 'fail', summary: 'It is silent.', remediation: [] }],
        },
      ],
    },
    ['hosts fault: node-1: gpu_driver: It is silent.'],
  ],
  [
    'no host',
    { fleet: { hosts: { online: 0, draining: 0, offline: 0 }, slots: { total: 0, used: 0 } } },
    ['hosts fault: No host is online, so every launch is refused.'],
  ],
  [
    'a full fleet',
    { fleet: { ...well.fleet, slots: { total: 4, used: 4 } } },
    ['hosts note: Every slot is taken. The next launch is refused until a session ends.'],
  ],
  [
    'a failed session of today',
    { failedSessions: [{ ...session, ended_at: at(HOUR_MS) }] },
    [expect.stringContaining('failed: The app crashed. (app_crashed)')],
  ],
  ['a failed session of last week', { failedSessions: [{ ...session, ended_at: at(7 * DAY_MS) }] }, []],
  [
    'a failing job',
    { jobs: [{ ...backupJob, last_run: { ...run, state: 'failed', error: 'The disk is full.' } }] },
    ['jobs warning: The job database.backup failed: The disk is full.'],
  ],
  [
    'an old backup',
    { backups: [{ ...backup, created_at: at(3 * DAY_MS) }] },
    ['backups warning: The newest verified backup is 72 hours old.'],
  ],
  [
    'no backup',
    { backups: [{ ...backup, verified: false }] },
    ['backups warning: There is no verified backup.'],
  ],
  [
    'a silent receiver',
    { webhook: { ...well.webhook, waiting: 7, oldest_at: at(HOUR_MS) } },
    ['webhook warning: 7 events wait for the webhook, because its receiver does not confirm them.'],
  ],
])('%s', (_what, part, expected) => {
  expect(titles(part)).toEqual(expected);
});

test('faults come before warnings and notes', () => {
  const levels = judgeOverview({ ...well, access: certificate(-1), clockOffsetMs: 90_000 }, NOW_MS);
  expect(levels.map(({ level }) => level)).toEqual(['fault', 'warning']);
});
