import { errorText, SECOND_MS, type Timer, within } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import { type Executor, fromJson } from '../platform/database/index.ts';
import type { JobsTable } from '../platform/database/tables/jobs.ts';
import { type Fence, LeaseLost } from '../platform/leader.ts';
import type { ControlJobId, JobWork } from '../platform/platform.ts';
import type { JobsPlatform } from './deps.ts';
import { holdJobs, lastEnd, listIdleHosts, listJobs } from './job-store.ts';
import type { Pruner } from './pruner.ts';
import { intervalOf, windowOf } from './rules/effective.ts';
import { judgeClaim, type Reaped } from './rules/run-life.ts';
import { latestStart, nextStart } from './rules/schedule.ts';
import { endRunning, type RunEnding } from './run-end.ts';
import {
  bringForward,
  type ClaimedRun,
  claimControlRuns,
  insertPending,
  lastPending,
  listOpenOfInstance,
  listReapable,
  lockRunning,
  type NewRun,
  pullForward,
} from './run-store.ts';

/** Name of the dispatcher's lease. */
export const DISPATCH = 'jobs.dispatch';
/** Time from the start of the service to the first tick. */
const FIRST_TICK_MS = 5 * SECOND_MS;
/** Maximum runs of this service that one tick claims. */
const CLAIMS_AT_ONCE = 5;
/**
 * Time limit for running jobs to end when the service stops. Chosen, not measured; their transactions take up to a
 * second.
 */
const STOP_MS = 5 * SECOND_MS;

const REAPED: Record<Exclude<Reaped, null>, string> = {
  timed_out: 'nobody reported the end of this run in time',
  dispatcher_gone: 'dispatcher went away',
};
const STOPPING: RunEnding = {
  state: 'deferred',
  summary: { reason: 'the service is stopping' },
  error: null,
};

/** A run that this process works on, or a run whose end is not stored yet. */
interface Execution {
  runId: string;
  fence: Fence;
  abort: AbortController;
  deadline: Timer;
  done: Promise<void>;
  /** Set when the job has ended. */
  ending: RunEnding | null;
}

/**
 * Plans runs and executes the jobs of this service, under a lease with a fencing number.
 *
 * Steps of each tick: store ends that could not be stored before, reap, plan, claim, prune. Jobs run between the ticks,
 * one run of a job at a time. A process that lost the lease can store nothing: its runs have an old fencing number, and
 * the next lease holder reaps them.
 *
 * Teardown: `close` aborts the jobs and waits at most STOP_MS for their end. An aborted job is tried again later.
 */
export class Dispatcher {
  readonly #platform: JobsPlatform;
  readonly #work: ReadonlyMap<string, JobWork>;
  readonly #pruner: Pruner;
  /** Running executions by job id; at most one per job. */
  readonly #executions = new Map<string, Execution>();
  #closing = false;

  constructor(platform: JobsPlatform, work: ReadonlyMap<string, JobWork>, pruner: Pruner) {
    this.#platform = platform;
    this.#work = work;
    this.#pruner = pruner;
  }

  start(): void {
    const { config, leader } = this.#platform;
    leader.register({
      id: DISPATCH,
      everyMs: config.jobs.tickMs,
      firstAfterMs: FIRST_TICK_MS,
      run: (fence) => this.#tick(fence),
      keepsLease: { lost: () => this.#abort(new Error('another replica took the lease')) },
    });
  }

  /** Runs a job now and waits for its end. Does nothing when the job is disabled, or another replica has the lease. */
  runNow(jobId: ControlJobId): Promise<void> {
    return this.#platform.leader.runNow(DISPATCH, async (fence) => {
      const { clock, database, random } = this.#platform;
      await this.#executions.get(jobId)?.done;
      const [job] = (await listJobs(database.db)).filter(({ id }) => id === jobId);
      if (job === undefined || job.enabled === 0) return;
      const nowMs = clock.nowMs();
      const claimed = await database.transaction(async (tx) => {
        await fence.check(tx);
        const due = { trigger: 'event' as const, actor_user_id: null, scheduled_for: nowMs };
        const run = { ...due, id: random.uuid(), job_id: jobId, host_id: null, attempt: 1, params: '{}' };
        const added = await insertPending(tx, [{ ...run, created_at: nowMs }]);
        if (added.length === 0) await pullForward(tx, { jobId, hostId: null }, due);
        return claimControlRuns(tx, [jobId], { limit: 1, fence: fence.number, nowMs });
      });
      for (const run of claimed) await this.#execute(fence, run);
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#abort(new Error('the service is stopping'));
    const running = [...this.#executions.values()].map(({ done }) => done);
    await within(this.#platform.clock, STOP_MS, Promise.all(running), undefined);
    for (const { deadline } of this.#executions.values()) deadline.cancel();
  }

  async #tick(fence: Fence): Promise<void> {
    for (const [jobId, execution] of this.#executions) await this.#storeEnd(jobId, execution);
    await this.#reap(fence);
    const jobs = await listJobs(this.#platform.database.db);
    await this.#plan(fence, jobs);
    await this.#claim(fence, jobs);
    await this.#pruner.prune(fence, jobs);
  }

  /** Ends runs whose claimer has stopped. Each has its own transaction, because its end may add another run. */
  async #reap(fence: Fence): Promise<void> {
    const { clock, config, database, logger, random } = this.#platform;
    const nowMs = clock.nowMs();
    const timeoutMs = config.jobs.claimTimeoutMs;
    const executing = new Set([...this.#executions.values()].map(({ runId }) => runId));
    const claimed = { beforeMs: nowMs - timeoutMs, afterMs: nowMs + timeoutMs };
    for (const listed of await listReapable(database.db, claimed)) {
      const { id } = listed;
      if (judgeClaim(listed, { isExecuting: executing.has(id), timeoutMs, nowMs }) === null) continue;
      const reaped = await database.transaction(async (tx) => {
        await fence.check(tx);
        const [run] = await lockRunning(tx, [id]);
        const why =
          run === undefined ? null : judgeClaim(run, { isExecuting: executing.has(id), timeoutMs, nowMs });
        if (run === undefined || why === null) return null;
        const ending = { state: 'aborted' as const, summary: {}, error: REAPED[why] };
        await endRunning(tx, [{ run, ending }], { nowMs, random });
        return { ...run, why };
      });
      if (reaped === null) continue;
      const { job_id, host_id, why } = reaped;
      this.#pruner.ended({ jobId: job_id, hostId: host_id });
      logger.warn({ job: job_id, run_id: id, host_id, why }, 'jobs.run_reaped');
    }
  }

  /**
   * Adds a pending run for each target without an open run, for jobs with an interval. Runs that were planned while the
   * clock was ahead are moved to an earlier time.
   */
  async #plan(fence: Fence, jobs: readonly JobsTable[]): Promise<void> {
    const { database } = this.#platform;
    const late = await this.#lateJobs(database.db, jobs);
    if (late.length === 0 && (await this.#dueRuns(database.db, jobs)).length === 0) return;
    await database.transaction(async (tx) => {
      await fence.check(tx);
      // The lock makes a concurrent change of a schedule wait, so that it sees the runs that this transaction adds.
      const held = await holdJobs(tx);
      for (const { jobId, latestMs } of await this.#lateJobs(tx, held))
        await bringForward(tx, jobId, latestMs);
      await insertPending(tx, await this.#dueRuns(tx, held));
    });
  }

  /** Jobs with a pending run that is planned later than the job's schedule allows. */
  async #lateJobs(db: Executor, jobs: readonly JobsTable[]): Promise<{ jobId: string; latestMs: number }[]> {
    const nowMs = this.#platform.clock.nowMs();
    const last = await lastPending(db);
    return jobs.flatMap((job) => {
      const latestMs = latestStart({ intervalMs: this.#intervalOf(job), window: windowOf(job) }, nowMs);
      const isLate = job.enabled === 1 && (last.get(job.id) ?? 0) > latestMs;
      return isLate ? [{ jobId: job.id, latestMs }] : [];
    });
  }

  async #dueRuns(db: Executor, jobs: readonly JobsTable[]): Promise<NewRun[]> {
    const { clock, random } = this.#platform;
    const nowMs = clock.nowMs();
    const open = new Set((await listOpenOfInstance(db)).map(({ job_id }) => job_id));
    const runs: NewRun[] = [];
    for (const job of jobs) {
      const schedule = { intervalMs: this.#intervalOf(job), window: windowOf(job) };
      if (schedule.intervalMs === null || (job.scope === 'instance' && open.has(job.id))) continue;
      const targets =
        job.scope === 'host'
          ? await listIdleHosts(db, job.id)
          : [{ host_id: null, last_end: await lastEnd(db, job.id) }];
      for (const { host_id, last_end } of targets) {
        const scheduled_for = nextStart(schedule, last_end, nowMs);
        if (scheduled_for === null) continue;
        const made = { trigger: 'schedule' as const, actor_user_id: null, attempt: 1, params: '{}' };
        runs.push({ ...made, id: random.uuid(), job_id: job.id, host_id, scheduled_for, created_at: nowMs });
      }
    }
    return runs;
  }

  async #claim(fence: Fence, jobs: readonly JobsTable[]): Promise<void> {
    const { clock, database } = this.#platform;
    const nowMs = clock.nowMs();
    const ready = jobs
      .filter(({ id, enabled }) => enabled === 1 && this.#work.has(id) && !this.#executions.has(id))
      .map(({ id }) => id);
    const open = await listOpenOfInstance(database.db);
    const isDue = open.some(
      ({ job_id, state, scheduled_for }) =>
        state === 'pending' && scheduled_for <= nowMs && ready.includes(job_id),
    );
    if (!isDue || this.#closing) return;
    const claimed = await database.transaction(async (tx) => {
      await fence.check(tx);
      return claimControlRuns(tx, ready, { limit: CLAIMS_AT_ONCE, fence: fence.number, nowMs });
    });
    for (const run of claimed) void this.#execute(fence, run);
  }

  /** Executes a claimed run and stores its end. Never rejects. */
  #execute(fence: Fence, run: ClaimedRun): Promise<void> {
    const { clock, config } = this.#platform;
    const abort = new AbortController();
    const execution: Execution = {
      runId: run.id,
      fence,
      abort,
      deadline: clock.setTimeout(
        () => abort.abort(new Error('the time is over')),
        config.jobs.claimTimeoutMs,
      ),
      done: Promise.resolve(),
      ending: null,
    };
    this.#executions.set(run.job_id, execution);
    execution.done = (async () => {
      const ending = await this.#endingOf(run, execution);
      execution.deadline.cancel();
      if (ending === null) this.#executions.delete(run.job_id);
      else {
        execution.ending = ending;
        await this.#storeEnd(run.job_id, execution);
      }
    })();
    if (this.#closing) abort.abort(new Error('the service is stopping'));
    return execution.done;
  }

  /** @returns null: another replica has the lease and decides about this run */
  async #endingOf(run: ClaimedRun, execution: Execution): Promise<RunEnding | null> {
    const { logger } = this.#platform;
    const { fence, abort } = execution;
    try {
      const work = this.#work.get(run.job_id);
      if (work === undefined) throw new Error('this release does not know the job');
      const params = fromJson<JsonObject>(run.params);
      const { state, summary = {} } = await work.run({
        fence,
        params,
        trigger: run.trigger,
        signal: abort.signal,
      });
      // Do not report success while stopping, because the stop may have ended the job early.
      return this.#closing ? STOPPING : { state, summary, error: null };
    } catch (error) {
      if (error instanceof LeaseLost) return null;
      if (this.#closing) return STOPPING;
      logger.error({ job: run.job_id, run_id: run.id, err: error }, 'jobs.run_failed');
      return { state: 'failed', summary: {}, error: errorText(error) };
    }
  }

  /** Stores the end of a run, if it has ended; the next tick retries after a failure. Never rejects. */
  async #storeEnd(jobId: string, execution: Execution): Promise<void> {
    const { clock, database, logger, random } = this.#platform;
    const { runId, fence, ending } = execution;
    if (ending === null) return;
    try {
      await database.transaction(async (tx) => {
        await fence.check(tx);
        const [run] = await lockRunning(tx, [runId]);
        if (run?.fence === fence.number)
          await endRunning(tx, [{ run, ending }], { nowMs: clock.nowMs(), random });
      });
      this.#pruner.ended({ jobId, hostId: null });
    } catch (error) {
      if (!(error instanceof LeaseLost)) {
        logger.warn({ job: jobId, run_id: runId, err: error }, 'jobs.end_not_stored');
        return;
      }
    }
    if (this.#executions.get(jobId) === execution) this.#executions.delete(jobId);
  }

  #abort(reason: Error): void {
    for (const { abort } of this.#executions.values()) abort.abort(reason);
  }

  /** The job's interval (ms); null: its schedule does not start it. */
  #intervalOf(job: JobsTable): number | null {
    const { id, plane, managed, enabled } = job;
    if (managed === 0 || enabled === 0 || (plane === 'control' && !this.#work.has(id))) return null;
    return intervalOf(job, this.#work.get(id)?.lock ?? null);
  }
}
