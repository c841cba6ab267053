import {
  type Clock,
  errorText,
  type Logger,
  MINUTE_MS,
  type Random,
  SECOND_MS,
  type Timer,
  within,
} from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import {
  type AgentJobId,
  isSummaryWithinBound,
  type JobReport,
  type JobRunOrder,
  jobsPendingSchema,
  POLL_INTERVAL_MS,
} from '@footlight/protocol/agent';
import type { CallControl } from '../link/http-call.ts';
import { Poll } from '../link/poll.ts';
import { ReportFile } from './report-file.ts';

/**
 * How a run ended. deferred: a precondition of the job is not fulfilled, so the run is tried again later. skipped:
 * there was nothing to do.
 */
export interface AgentJobOutcome {
  state: 'succeeded' | 'deferred' | 'skipped';
  /** At most 4096 bytes of JSON. */
  summary?: JsonObject;
}

/** A job that this agent can run. At most one run at a time. */
export interface AgentJob {
  /**
   * @param run its signal is aborted when the agent stops or the claim expires; the job must then end soon
   * @throws any error; the run is then reported as failed
   */
  run(run: { params: JsonObject; signal: AbortSignal }): Promise<AgentJobOutcome>;
}

/** The first poll after the agent's start is sent within this time. Chosen, not measured. */
const FIRST_POLL_MS = 5 * SECOND_MS;
/**
 * Delays between two attempts to send a report: 1 s, doubling up to a minute, with random jitter in the upper half of
 * the delay. Chosen, not measured.
 */
const FIRST_RETRY_MS = SECOND_MS;
const MAX_RETRY_MS = MINUTE_MS;
/** HTTP statuses after which a report is not sent again: the control plane has stored it, or will never accept it. */
const FINAL = new Set([200, 400, 401]);
/** Time limit for the jobs to end when the agent stops. Chosen, not measured. */
const STOP_MS = 5 * SECOND_MS;

interface Working {
  jobId: string;
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Job runs of this host: polls for them, runs them and reports their results.
 *
 * A claimed run is listed in `#working` until it ends, and then in the report file until the control plane confirms its
 * report. While a run is listed, it is not started again, even if a poll returns it again. If this process dies, the
 * control plane ends its runs when the next process registers.
 *
 * Teardown: `stop` ends the polls and aborts the jobs. Then it waits at most STOP_MS for the jobs and for the report
 * that is being sent, so that nothing writes to the state directory afterwards. The next process sends the reports of
 * the aborted jobs.
 */
export class AgentJobs {
  readonly #deps: {
    call: CallControl;
    clock: Clock;
    random: Random;
    logger: Logger;
    stateDir: string;
  };
  readonly #jobs = new Map<string, AgentJob>();
  readonly #working = new Map<string, Working>();
  readonly #reports: ReportFile;
  readonly #poll: Poll;
  #sending: Promise<void> | null = null;
  #retry: Timer | null = null;
  /** Number of consecutive failed attempts to send a report. */
  #failures = 0;
  #isStopped = false;

  constructor(deps: {
    call: CallControl;
    clock: Clock;
    random: Random;
    logger: Logger;
    stateDir: string;
  }) {
    this.#deps = deps;
    this.#reports = new ReportFile(deps.stateDir, deps.logger);
    this.#poll = new Poll({ ...deps, everyMs: POLL_INTERVAL_MS, poll: (stopping) => this.#ask(stopping) });
  }

  /** Adds a job. Call before `start`. @throws when a job with this id was added already */
  register(id: AgentJobId, job: AgentJob): void {
    if (this.#jobs.has(id)) throw new Error(`the job ${id} is registered already`);
    this.#jobs.set(id, job);
  }

  /** Reads the reports that a former process left unsent. Call before `start`. */
  open(): Promise<void> {
    return this.#reports.open();
  }

  /** Sends the reports of a former process, and starts to poll. */
  start(): void {
    this.#send();
    this.#poll.start(FIRST_POLL_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    const running = [...this.#working.values()];
    for (const { abort } of running) abort.abort(new Error('the agent stops'));
    const ended = Promise.all([this.#poll.stop(), ...running.map(({ done }) => done), this.#sending]);
    await within(this.#deps.clock, STOP_MS, ended, undefined);
  }

  /** Polls once. Never rejects: after a failure, the next poll tries again. */
  async #ask(signal: AbortSignal): Promise<void> {
    const { call, logger } = this.#deps;
    try {
      const { status, body } = await call({ method: 'GET', path: '/v1/agent/jobs/pending', signal });
      if (status !== 200) throw new Error(`the control plane answered ${status}`);
      for (const run of jobsPendingSchema.parse(body).runs) this.#begin(run);
    } catch (error) {
      logger.debug({ error: errorText(error) }, 'jobs.poll_failed');
    }
  }

  #begin(order: JobRunOrder): void {
    const { run_id, job_id } = order;
    if (this.#isStopped || this.#working.has(run_id) || this.#reports.has(run_id)) return;
    const abort = new AbortController();
    // A run whose claim expired may still be running when the next run of the same job arrives.
    const before = [...this.#working.values()]
      .filter(({ jobId }) => jobId === job_id)
      .map(({ done }) => done);
    const done = (async () => {
      await Promise.all(before);
      const report = await this.#run(order, abort);
      await this.#reports.add(report);
      this.#working.delete(run_id);
      this.#send();
    })();
    this.#working.set(run_id, { jobId: job_id, abort, done });
  }

  /** Runs a job and stores its report. Never rejects. */
  async #run(
    { run_id, job_id, params, deadline_secs }: JobRunOrder,
    abort: AbortController,
  ): Promise<JobReport> {
    const { clock, logger } = this.#deps;
    const job = this.#jobs.get(job_id);
    if (job === undefined)
      return { run_id, state: 'skipped', summary: { reason: 'this agent does not know the job' } };
    const deadline = clock.setTimeout(
      () => abort.abort(new Error('the time of the claim is over')),
      deadline_secs * SECOND_MS,
    );
    try {
      abort.signal.throwIfAborted();
      const { state, summary = {} } = await job.run({ params, signal: abort.signal });
      return { run_id, state, summary: isSummaryWithinBound(summary) ? summary : { truncated: true } };
    } catch (error) {
      if (this.#isStopped) return { run_id, state: 'deferred', summary: { reason: 'the agent was stopped' } };
      logger.warn({ job: job_id, run_id, error: errorText(error) }, 'jobs.run_failed');
      return { run_id, state: 'failed', error: errorText(error) };
    } finally {
      deadline.cancel();
    }
  }

  /** Sends the stored reports, if no attempt is running or scheduled. */
  #send(): void {
    if (this.#retry === null && !this.#isStopped) void this.sendKept();
  }

  /**
   * Sends the stored reports, oldest first, until one attempt fails; that report is sent again later. Never rejects.
   */
  sendKept(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    const { clock, random } = this.#deps;
    for (let report = this.#reports.first(); report !== undefined; report = this.#reports.first()) {
      if (!(await this.#isConfirmed(report))) {
        const fullMs = Math.min(FIRST_RETRY_MS * 2 ** Math.min(this.#failures, 16), MAX_RETRY_MS);
        this.#failures += 1;
        if (this.#isStopped) return;
        this.#retry = clock.setTimeout(
          () => {
            this.#retry = null;
            this.#send();
          },
          fullMs * (0.5 + 0.5 * random.number()),
        );
        return;
      }
      this.#failures = 0;
      await this.#reports.remove(report.run_id);
    }
  }

  async #isConfirmed(report: JobReport): Promise<boolean> {
    const { call, logger } = this.#deps;
    try {
      const { status } = await call({ method: 'POST', path: '/v1/agent/jobs/report', body: report });
      if (FINAL.has(status) && status !== 200)
        logger.warn({ run_id: report.run_id, status }, 'jobs.report_refused');
      return FINAL.has(status);
    } catch (error) {
      logger.debug({ run_id: report.run_id, error: errorText(error) }, 'jobs.report_failed');
      return false;
    }
  }
}
