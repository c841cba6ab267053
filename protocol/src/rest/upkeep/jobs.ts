import { z } from 'zod';
import { jobReportSchema, jobsPendingSchema, MAX_CALL_BODY_BYTES } from '../../agent/job-calls.ts';
import { jsonObject, uuid } from '../../common.ts';
import { body, dateTime, int32, limitOrDefault, madeId, string, timeZone } from '../atoms.ts';
import { operation } from '../operation.ts';

/** Form of a job's id. */
export const JOB_ID_PATTERN = /^[a-z][a-z0-9]*(?:[._][a-z0-9]+)+$/;
/** Shortest interval that administrators may set, in seconds. */
export const MIN_INTERVAL_SECS = 60;
/** Largest number of stored runs per target, and the longest page of runs. */
export const MAX_KEPT_RUNS = 500;
const PATCH_BYTES = 64 * 1024;
const RUN_BYTES = 4 * 1024;
/** Number of items on a page. Chosen, not measured. */
const DEFAULT_PAGE = 50;

export const jobRunState = z.enum([
  'pending',
  'running',
  'succeeded',
  'failed',
  'deferred',
  'skipped',
  'aborted',
]);
export type JobRunState = z.output<typeof jobRunState>;

const jobRun = z
  .object({
    id: madeId.describe('Id of the run.'),
    host_id: z.string().nullable().describe('Host it runs on; null for a job of the instance.'),
    state: jobRunState.describe(
      '`deferred`: a gate of the job refused, and another run tries again; `skipped`: there was nothing to do; `aborted`: who claimed it went away or did not report in time.',
    ),
    trigger: z.enum(['schedule', 'manual', 'event']).describe('What made it.'),
    started_at: dateTime.nullable().describe('When it was claimed; null while it is pending.'),
    finished_at: dateTime.nullable().describe('When it ended; null until then.'),
    duration_ms: z.int().nullable().describe('Milliseconds from start to end, int64; null until it ended.'),
    summary: jsonObject
      .meta({ type: 'object' })
      .describe('What the run says about its result, at most 4096 bytes; {} for nothing.'),
    error: z.string().nullable().describe('Why it failed or was aborted; null for other states.'),
  })
  .meta({ id: 'JobRun', description: 'One run of a job.' });
export type JobRun = z.output<typeof jobRun>;

const nextRunAt = dateTime
  .nullable()
  .describe('When the pending run is due, or the next one will be; null when none is planned.');
const lastRun = jobRun.nullable().describe('The run that ended last; null when none has.');

const jobTarget = z
  .object({
    host_id: madeId.describe('Id of the host.'),
    node_name: z.string().describe('Name of the host.'),
    running: z.boolean().describe('A run is claimed there and not reported.'),
    next_run_at: nextRunAt,
    last_run: lastRun,
  })
  .meta({ id: 'JobTarget', description: 'A job of hosts, on one host.' });
export type JobTarget = z.output<typeof jobTarget>;

const time = z.string().nullable();

const jobSchedule = z
  .object({
    kind: z
      .enum(['interval', 'event', 'manual'])
      .describe('What starts runs: the end of the last one, an event, or only an administrator.'),
    interval_secs: z
      .int()
      .nullable()
      .describe(
        'Seconds from the end of a run to the next one, of the environment when `locked`; 0 there: never. null unless the kind is interval.',
      ),
    window_start: time.describe('HH:MM:SS from which runs may start; null: at any time.'),
    window_end: time.describe(
      'HH:MM:SS before which runs may start, on the next day when it is the earlier time; null: at any time.',
    ),
    window_days: z
      .array(z.int())
      .describe('Days on which the window opens, 0 (Sunday) to 6; [] is every day.'),
    timezone: z.string().describe('IANA zone of the window.'),
    locked: z.boolean().describe('A variable of the environment sets the interval.'),
    locked_by: z.string().nullable().describe('Name of that variable; null when none does.'),
  })
  .meta({ id: 'JobSchedule', description: 'When a job runs by itself.' });
export type JobSchedule = z.output<typeof jobSchedule>;

const job = z
  .object({
    id: z.string().describe('Id of the job, such as `auth.token_janitor`.'),
    name: z.string().describe('Its name for people.'),
    description: z.string().describe('What it does.'),
    plane: z.enum(['control', 'agent']).describe('Who runs it: this service, or the agents of hosts.'),
    scope: z.enum(['instance', 'host']).describe('Whether it runs for the instance or for each host.'),
    managed: z.boolean().describe('False: it is listed only, and can be neither run nor changed.'),
    enabled: z.boolean().describe('False: it never runs, not by hand either.'),
    schedule: jobSchedule.describe('When it runs by itself.'),
    history_limit: z.int().describe('Runs of each target that are kept.'),
    running: z.boolean().optional().describe('A run is under way. Managed jobs of the instance only.'),
    next_run_at: nextRunAt.optional(),
    last_run: lastRun.optional(),
    consecutive_failures: z
      .int()
      .optional()
      .describe('Failed and aborted runs since the last success. Managed jobs of the instance only.'),
    targets: z.array(jobTarget).optional().describe('Each known host, by name. Managed jobs of hosts only.'),
    unmanaged_note: z.string().optional().describe('What it does. Jobs that are not managed only.'),
  })
  .meta({ id: 'Job', description: 'Work that runs in the background.' });
export type Job = z.output<typeof job>;

const patchBody = body({
  enabled: z.boolean().optional().describe('False: it never runs, not by hand either.'),
  interval_secs: int32(MIN_INTERVAL_SECS)
    .optional()
    .describe('Seconds from the end of a run to the next one. Jobs with an interval only.'),
  window_start: string({ max: 8 })
    .nullable()
    .optional()
    .describe('HH:MM or HH:MM:SS from which runs may start; null, together with the end: at any time.'),
  window_end: string({ max: 8 })
    .nullable()
    .optional()
    .describe('HH:MM or HH:MM:SS before which runs may start, not equal to the start.'),
  window_days: z
    .array(int32(0, 6))
    .max(64)
    .optional()
    .describe('Days on which the window opens, 0 (Sunday) to 6; [] is every day.'),
  timezone: timeZone.optional().describe('IANA zone of the window.'),
  history_limit: int32(1, MAX_KEPT_RUNS).optional().describe('Runs of each target that are kept.'),
});
export type JobPatch = z.output<typeof patchBody>;

const jobParams = z.object({ job_id: string({ max: 128 }).describe('Id of the job.') });
const NO_JOB = 'There is no such job.';
const UNMANAGED = 'The job is listed only.';

const exampleRun = {
  id: '8d0f1a52-7b3c-4e69-a1d4-5f0c2b9e7a36',
  host_id: null,
  state: 'succeeded',
  trigger: 'schedule',
  started_at: '2026-06-02T06:00:04.000Z',
  finished_at: '2026-06-02T06:00:04.120Z',
  duration_ms: 120,
  summary: { deleted: 17 },
  error: null,
};
const exampleJob = {
  id: 'auth.token_janitor',
  name: 'Expired sign-ins',
  description: 'Deletes expired sign-ins.',
  plane: 'control',
  scope: 'instance',
  managed: true,
  enabled: true,
  schedule: {
    kind: 'interval',
    interval_secs: 21_600,
    window_start: '03:00:00',
    window_end: '05:00:00',
    window_days: [],
    timezone: 'Europe/Berlin',
    locked: false,
    locked_by: null,
  },
  history_limit: 50,
  running: false,
  next_run_at: '2026-06-03T01:00:00.000Z',
  last_run: exampleRun,
  consecutive_failures: 0,
};
const exampleParams = { job_id: 'auth.token_janitor' };

export const jobOperations = {
  'admin.jobs.list': operation({
    id: 'admin.jobs.list',
    method: 'GET',
    path: '/v1/admin/jobs',
    auth: 'admin',
    summary: 'Background jobs by id',
    query: z.object({
      limit: limitOrDefault(DEFAULT_PAGE, MAX_KEPT_RUNS),
      cursor: string({ max: 128 })
        .optional()
        .describe('`next_cursor` of the page before; left out: the first page.'),
    }),
    responses: {
      200: z.object({
        items: z.array(job).describe('The jobs of this page.'),
        next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
      }),
    },
    example: { query: { limit: '1' }, response: { items: [exampleJob], next_cursor: 'auth.token_janitor' } },
  }),
  'admin.jobs.read': operation({
    id: 'admin.jobs.read',
    method: 'GET',
    path: '/v1/admin/jobs/{job_id}',
    auth: 'admin',
    summary: 'One background job',
    params: jobParams,
    responses: { 200: job },
    refusals: { not_found: NO_JOB },
    example: { params: exampleParams, response: exampleJob },
  }),
  'admin.jobs.update': operation({
    id: 'admin.jobs.update',
    method: 'PATCH',
    path: '/v1/admin/jobs/{job_id}',
    auth: 'admin',
    summary: 'Change when a job runs, or switch it off',
    description:
      'A pending run that the schedule made is planned again. A run that is under way goes on, also when the job is switched off.',
    params: jobParams,
    body: { schema: patchBody, maxBytes: PATCH_BYTES },
    responses: { 200: job },
    refusals: {
      not_found: `${NO_JOB} Checked before the body.`,
      job_unmanaged: `${UNMANAGED} Checked before the body.`,
      schedule_locked: '`interval_secs` was sent, and a variable of the environment sets the interval.',
    },
    example: {
      params: exampleParams,
      body: { window_start: '03:00', window_end: '05:00', timezone: 'Europe/Berlin' },
      response: exampleJob,
    },
  }),
  'admin.jobs.run': operation({
    id: 'admin.jobs.run',
    method: 'POST',
    path: '/v1/admin/jobs/{job_id}/run',
    auth: 'admin',
    summary: 'Queue a run now',
    description:
      "It ignores the window, never the job's own gates. A pending run is pulled forward instead of a second one.",
    params: jobParams,
    body: {
      schema: body({
        host_id: uuid
          .optional()
          .describe('The host to run on. Required for a job of hosts, not allowed for others.'),
      }),
      maxBytes: RUN_BYTES,
      optional: true,
    },
    responses: {
      202: z.object({
        run_id: madeId.describe('Id of the pending run.'),
        state: z.literal('pending').describe('Always `pending`: the run is queued, not executed yet.'),
        scheduled_for: dateTime.describe('When it is due.'),
        eta_note: z
          .string()
          .describe('When it will probably start, for people. Free text: do not branch on it.'),
      }),
    },
    refusals: {
      not_found: `${NO_JOB} Or, after the rule for \`host_id\`: there is no such host.`,
      job_unmanaged: UNMANAGED,
      job_disabled: 'The job is switched off.',
      job_already_running: 'A run of this target is under way.',
    },
    example: {
      params: exampleParams,
      body: {},
      response: {
        run_id: exampleRun.id,
        state: 'pending',
        scheduled_for: '2026-06-02T12:00:00.000Z',
        eta_note: 'Starts within about 10 s.',
      },
    },
  }),
  'admin.jobs.runs': operation({
    id: 'admin.jobs.runs',
    method: 'GET',
    path: '/v1/admin/jobs/{job_id}/runs',
    auth: 'admin',
    summary: 'Runs of a job, newest first',
    params: jobParams,
    query: z.object({
      host_id: uuid.optional().describe('Only runs on this host.'),
      limit: limitOrDefault(DEFAULT_PAGE, MAX_KEPT_RUNS),
      cursor: z
        .unknown()
        .optional()
        .transform((raw) => (typeof raw === 'string' ? raw : undefined))
        .meta({ type: 'string' })
        .describe('`next_cursor` of the page before; left out or malformed: the first page.'),
    }),
    responses: {
      200: z.object({
        items: z.array(jobRun).describe('The runs of this page.'),
        next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
      }),
    },
    refusals: { not_found: NO_JOB },
    example: { params: exampleParams, response: { items: [exampleRun], next_cursor: null } },
  }),
  'agent.jobs.pending': operation({
    id: 'agent.jobs.pending',
    method: 'GET',
    path: '/v1/agent/jobs/pending',
    auth: 'node',
    summary: 'A host claims its due runs',
    description:
      'Claims up to five. What the same process (`X-Service-Boot`) claimed over 60 s ago and has not reported is in the answer again.',
    responses: { 200: jobsPendingSchema },
    example: {
      response: {
        runs: [{ run_id: exampleRun.id, job_id: 'home.gc', params: {}, deadline_secs: 3_600 }],
      },
    },
  }),
  'agent.jobs.report': operation({
    id: 'agent.jobs.report',
    method: 'POST',
    path: '/v1/agent/jobs/report',
    auth: 'node',
    summary: 'A host reports the end of a run',
    description:
      'May be repeated: a run that ended stays as it is. An unknown run, a run of another host and a bad credential get the same 401. A summary over its bound is 400, and the run stays open.',
    body: { schema: jobReportSchema, maxBytes: MAX_CALL_BODY_BYTES, unknownKeys: 'ignored' },
    responses: { 200: z.object({ ok: z.literal(true).describe('Always true.') }) },
    refusals: { conflict: 'The run is not claimed, or changed under this call.' },
    example: {
      body: { run_id: exampleRun.id, state: 'succeeded', summary: { deleted: 2, kept: 0, failed: 0 } },
      response: { ok: true },
    },
  }),
} as const;
