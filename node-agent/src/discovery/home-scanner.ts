import {
  type Clock,
  delay,
  errorText,
  type Logger,
  MINUTE_MS,
  type Random,
  SECOND_MS,
} from '@footlight/platform';
import { backoffMs } from '@footlight/protocol';
import {
  POLL_INTERVAL_MS,
  type ScanReport,
  type ScanTask,
  scanPendingSchema,
} from '@footlight/protocol/agent';
import type { CallControl } from '../link/http-call.ts';
import { Poll } from '../link/poll.ts';
import { scanInProcess } from './scan-process.ts';
import type { ScanResult } from './steam-library.ts';

/** The first poll after the agent's start is sent within this time. Chosen, not measured. */
const FIRST_POLL_MS = 5 * SECOND_MS;
/** Longest answer of a poll: twice the size of fifty tasks with the longest paths (90 KiB). */
const MAX_TASKS_BYTES = 192 * 1024;
/**
 * Time limit of a report. Before the control plane answers, it may look up 40 titles in a store, each for up to 10 s
 * (docs/apps.md).
 */
const REPORT_MS = 8 * MINUTE_MS;
/**
 * HTTP statuses after which a report is not sent again: it was accepted, it was permanently refused, or the scan has
 * ended.
 */
const SETTLED: ReadonlySet<number> = new Set([200, 400, 401, 409]);
/** Largest number of waiting tasks. A poll returns at most 50 tasks, so only a faulty control plane exceeds this. */
const MAX_WAITING = 200;

export interface HomeScannerDeps {
  call: CallControl;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Scans a home. Never rejects. Default: scans in a separate process. */
  scan?: (task: ScanTask, stopping: AbortSignal) => Promise<ScanResult>;
}

/**
 * Polls for scans of homes and runs them one after another. The next scan starts only after the report of the last one
 * was accepted or refused, so at most one report waits during an outage.
 *
 * A task is waiting → scanned → reported. If a poll returns a known task again, the task is ignored.
 *
 * Teardown: `stop` ends the polls and a running scan. The next process repeats scans whose report was not sent.
 */
export class HomeScanner {
  readonly #deps: HomeScannerDeps;
  readonly #poll: Poll;
  /** Tasks by scan id, in the order in which polls returned them. The first task is being scanned or reported. */
  readonly #tasks = new Map<string, ScanTask>();
  readonly #stopping = new AbortController();
  #work: Promise<void> | null = null;

  constructor(deps: HomeScannerDeps) {
    this.#deps = deps;
    this.#poll = new Poll({ ...deps, everyMs: POLL_INTERVAL_MS, poll: (stopping) => this.ask(stopping) });
  }

  /** Starts to poll. */
  start(): void {
    this.#poll.start(FIRST_POLL_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the agent stops'));
    this.#tasks.clear();
    await this.#poll.stop();
  }

  /** Polls once. Never rejects: after a failure, the next poll tries again. */
  async ask(signal?: AbortSignal): Promise<void> {
    const { call, logger } = this.#deps;
    try {
      const { status, body } = await call({
        method: 'GET',
        path: '/v1/agent/library/scan-pending',
        maxAnswerBytes: MAX_TASKS_BYTES,
        ...(signal && { signal }),
      });
      if (status !== 200) throw new Error(`the control plane answered ${status}`);
      this.#take(scanPendingSchema.parse(body).scans);
    } catch (error) {
      logger.debug({ error: errorText(error) }, 'library.poll_failed');
    }
  }

  /** Settles when no task waits. */
  async idle(): Promise<void> {
    await this.#work;
  }

  #take(tasks: readonly ScanTask[]): void {
    if (this.#stopping.signal.aborted) return;
    for (const task of tasks) {
      if (this.#tasks.size < MAX_WAITING && !this.#tasks.has(task.scan_id))
        this.#tasks.set(task.scan_id, task);
    }
    if (this.#tasks.size === 0) return;
    this.#work ??= this.#run().finally(() => {
      this.#work = null;
    });
  }

  async #run(): Promise<void> {
    for (const [id, task] of this.#tasks) {
      const report = await this.#scan(task);
      await this.#deliver(report);
      this.#tasks.delete(id);
    }
  }

  async #scan(task: ScanTask): Promise<ScanReport> {
    const { clock, logger } = this.#deps;
    const { scan = (one, stopping) => scanInProcess(one, { clock, stopping }) } = this.#deps;
    const startMs = clock.monotonicMs();
    const { ok, complete, error, entries, outside } = await scan(task, this.#stopping.signal);
    const fields = { scan_id: task.scan_id, ok, complete, titles: entries.length };
    const tookMs = Math.round(clock.monotonicMs() - startMs);
    logger.info({ ...fields, took_ms: tookMs, outside_libraries: outside, error }, 'library.scanned');
    return { scan_id: task.scan_id, ok, complete, error: error === '' ? null : error, entries };
  }

  async #deliver(report: ScanReport): Promise<void> {
    const { clock, logger, random } = this.#deps;
    for (let attempt = 0; !this.#stopping.signal.aborted; attempt += 1) {
      const status = await this.#send(report);
      if (status !== null && SETTLED.has(status)) {
        if (status !== 200) logger.warn({ scan_id: report.scan_id, status }, 'library.report_refused');
        return;
      }
      await delay(clock, backoffMs(attempt, random.number()));
    }
  }

  /** @returns the HTTP status of the answer; null: no answer arrived */
  async #send(report: ScanReport): Promise<number | null> {
    try {
      const { status } = await this.#deps.call({
        method: 'POST',
        path: '/v1/agent/library/scan-report',
        body: report,
        limitMs: REPORT_MS,
      });
      return status;
    } catch {
      return null;
    }
  }
}
