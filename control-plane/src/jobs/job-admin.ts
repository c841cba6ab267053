import {
  type Body,
  JOB_ID_PATTERN,
  type Job,
  type JobRun,
  type JobTarget,
  type Query,
  type Success,
} from '@footlight/protocol/rest';
import { type Executor, instant, instantOrNull, type Tx } from '../platform/database/index.ts';
import type { JobsTable } from '../platform/database/tables/jobs.ts';
import { ApiError, invalid, noSuch } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import { fittingRows, pageOf, readCursorOrStart } from '../platform/page-cursor.ts';
import type { IntervalLock, JobWork } from '../platform/platform.ts';
import type { JobsPlatform } from './deps.ts';
import { findJob, isHost, listJobs, listTargets, lockJob, updateJob } from './job-store.ts';
import type { Pruner } from './pruner.ts';
import { type RecordedRun, toJobHead, toRunRecord } from './record.ts';
import { intervalOf, windowOf } from './rules/effective.ts';
import { planPatch } from './rules/patch.ts';
import { nextStart } from './rules/schedule.ts';
import { countFailures, findLastRun, listRuns } from './run-history.ts';
import {
  deletePlanned,
  insertPending,
  listOpenOfJob,
  type OpenRun,
  pullForward,
  type Target,
} from './run-store.ts';

const ETA = {
  control: 'Starts within about 10 s.',
  agent: 'The host claims due jobs about every 60 s.',
  off: 'Jobs are switched off on this instance (SERVICE_JOBS): the run waits until they are switched on.',
} as const;
/**
 * Maximum attempts per request. An open run may end between the two statements of an attempt, but hardly this many
 * times in a row.
 */
const QUEUE_TRIES = 5;

/** Operations of administrators on jobs. */
export interface JobAdmin {
  /** @throws ApiError not_found */
  requireJob(id: string): Promise<JobsTable>;
  /** @throws ApiError not_found, job_unmanaged */
  requireManaged(id: string): Promise<JobsTable>;
  list(query: Query<'admin.jobs.list'>): Promise<Success<'admin.jobs.list'>>;
  /** @throws ApiError not_found */
  read(id: string): Promise<Job>;
  /** @throws ApiError not_found, validation_failed, schedule_locked */
  update(actor: Caller, id: string, patch: Body<'admin.jobs.update'>): Promise<Job>;
  /** @throws ApiError validation_failed, not_found, job_unmanaged, job_disabled, job_already_running */
  run(actor: Caller, id: string, hostId: string | null): Promise<Success<'admin.jobs.run'>>;
  /** @throws ApiError not_found */
  runs(id: string, query: Query<'admin.jobs.runs'>): Promise<{ items: JobRun[]; next_cursor: string | null }>;
}

export function createJobAdmin(
  platform: JobsPlatform,
  work: ReadonlyMap<string, JobWork>,
  pruner: Pruner,
): JobAdmin {
  const { activity, clock, config, database, random } = platform;
  const lockOf = (id: string): IntervalLock | null => work.get(id)?.lock ?? null;

  async function requireJob(id: string): Promise<JobsTable> {
    const job = await findJob(database.db, id);
    if (job === undefined) throw noSuch('job', id);
    return job;
  }

  /** Time of a target's next run; null: its schedule starts none. */
  function nextRunAt(job: JobsTable, open: OpenRun | undefined, last: RecordedRun | null): number | null {
    if (job.enabled === 0) return null;
    if (open?.state === 'pending') return open.scheduled_for;
    const schedule = { intervalMs: intervalOf(job, lockOf(job.id)), window: windowOf(job) };
    const nowMs = clock.nowMs();
    // The next run is planned from the end of the current run; if a run is open, its end is estimated as now.
    return config.jobs.isOn ? nextStart(schedule, open ? nowMs : (last?.finished_at ?? null), nowMs) : null;
  }

  async function view(db: Executor, job: JobsTable): Promise<Job> {
    const head = toJobHead(job, lockOf(job.id));
    if (!head.managed) return { ...head, unmanaged_note: head.description };
    const open = new Map((await listOpenOfJob(db, job.id)).map((run) => [run.host_id, run]));
    const standing = (hostId: string | null, last: RecordedRun | null) => ({
      running: open.get(hostId)?.state === 'running',
      next_run_at: instantOrNull(nextRunAt(job, open.get(hostId), last)),
      last_run: last && toRunRecord(last),
    });
    if (job.scope === 'host') {
      const targets = (await listTargets(db, job.id)).map(
        ({ host_id, node_name, last_run }): JobTarget => ({
          host_id,
          node_name,
          ...standing(host_id, last_run),
        }),
      );
      return { ...head, targets };
    }
    const last = (await findLastRun(db, job.id)) ?? null;
    return { ...head, ...standing(null, last), consecutive_failures: await countFailures(db, job.id) };
  }

  /** @returns null: a run is already running */
  async function queue(
    tx: Tx,
    target: Target,
    actorUserId: string,
  ): Promise<{ id: string; scheduled_for: number } | null> {
    const nowMs = clock.nowMs();
    const pull = { trigger: 'manual' as const, actor_user_id: actorUserId, scheduled_for: nowMs };
    const run = { id: random.uuid(), job_id: target.jobId, host_id: target.hostId, attempt: 1, params: '{}' };
    for (let tried = 0; tried < QUEUE_TRIES; tried += 1) {
      const [added] = await insertPending(tx, [{ ...run, ...pull, created_at: nowMs }]);
      if (added !== undefined) return { id: added, scheduled_for: nowMs };
      const pulled = await pullForward(tx, target, pull);
      if (pulled !== undefined) return pulled;
    }
    return null;
  }

  return {
    requireJob,

    async requireManaged(id) {
      const job = await requireJob(id);
      if (job.managed === 0) throw new ApiError('job_unmanaged');
      return job;
    },

    async list({ limit, cursor }) {
      if (cursor !== undefined && !JOB_ID_PATTERN.test(cursor)) throw invalid('cursor: not one of this list');
      const jobs = (await listJobs(database.db)).filter(({ id }) => cursor === undefined || id > cursor);
      const shown = jobs.slice(0, limit);
      const items: Job[] = [];
      for (const job of shown) items.push(await view(database.db, job));
      return { items, next_cursor: jobs.length > limit ? (shown.at(-1)?.id ?? null) : null };
    },

    async read(id) {
      return view(database.db, await requireJob(id));
    },

    async update(actor, id, patch) {
      const job = await database.transaction(async (tx) => {
        const stored = await lockJob(tx, id);
        if (stored === undefined) throw noSuch('job', id);
        const plan = planPatch(stored, patch, lockOf(id) !== null);
        if (plan.kind === 'invalid') throw invalid(plan.why);
        if (plan.kind === 'locked') throw new ApiError('schedule_locked');
        const { columns, isReplanned } = plan;
        if (Object.keys(columns).length === 0) return stored;
        const changed = { ...columns, updated_at: clock.nowMs() };
        await updateJob(tx, id, changed);
        if (isReplanned) await deletePlanned(tx, id);
        return { ...stored, ...changed };
      });
      const keys = Object.keys(patch).sort();
      if (patch.history_limit !== undefined) pruner.all();
      if (keys.length > 0) await activity.record(actor.userId, 'job.update', id, { keys });
      return view(database.db, job);
    },

    async run(actor, id, hostId) {
      const job = await requireJob(id);
      if (job.scope === 'host' && hostId === null) throw invalid('host_id: required for a job of hosts');
      if (job.scope === 'instance' && hostId !== null)
        throw invalid('host_id: not allowed for a job of the instance');
      if (hostId !== null && !(await isHost(database.db, hostId))) throw noSuch('host', hostId);
      if (job.managed === 0) throw new ApiError('job_unmanaged');
      if (job.enabled === 0) throw new ApiError('job_disabled');
      const run = await database.transaction((tx) => queue(tx, { jobId: id, hostId }, actor.userId));
      if (run === null) throw new ApiError('job_already_running');
      await activity.record(actor.userId, 'job.run', id, { run_id: run.id, host_id: hostId });
      return {
        run_id: run.id,
        state: 'pending',
        scheduled_for: instant(run.scheduled_for),
        eta_note: config.jobs.isOn ? ETA[job.plane] : ETA.off,
      };
    },

    async runs(id, { host_id, limit, cursor }) {
      await requireJob(id);
      const after = readCursorOrStart(cursor);
      const rows = await listRuns(database.db, { jobId: id, hostId: host_id ?? null, limit, after });
      const sizes = rows.map(({ summary, error }) => ({ bytes: summary.length + (error?.length ?? 0) }));
      const { rows: page, next_cursor } = pageOf(rows, fittingRows(limit, sizes));
      return { items: page.map(toRunRecord), next_cursor };
    },
  };
}
