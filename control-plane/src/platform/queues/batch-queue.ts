import { type Clock, systemClock, within } from '@footlight/platform';

interface Options {
  /** Maximum jobs in a batch. */
  max: number;
  /**
   * A batch that takes longer probably waits for a lock; the next batch then starts without waiting for it. Missing: no
   * limit.
   */
  maxWaitMs?: number;
  /** Measures maxWaitMs. Default: the system clock. */
  clock?: Clock;
  /**
   * Calls `begin` when the current callers have added their jobs. Default: after the I/O callbacks of the event loop.
   */
  schedule?: (begin: () => void) => void;
}

/**
 * Batches the jobs of one iteration of the event loop, because one transaction or query for each of many concurrent
 * callers would cost more than the rest of their work. Jobs keep their order; jobs that arrive while a batch runs form
 * the next batch.
 */
export class BatchQueue<Job> {
  readonly #handle: (jobs: readonly Job[]) => Promise<void>;
  readonly #options: Options;
  readonly #waiting: Job[] = [];
  #running: Promise<void> | null = null;

  /** @param handle handles one batch; must not reject */
  constructor(handle: (jobs: readonly Job[]) => Promise<void>, options: Options) {
    this.#handle = handle;
    this.#options = options;
  }

  /** Number of waiting jobs. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.#running ??= this.#run();
  }

  /** Resolves when no job is waiting and the queue waits for no batch. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const { max, maxWaitMs, clock = systemClock, schedule = setImmediate } = this.#options;
    for (;;) {
      await new Promise<void>((begin) => schedule(begin));
      const jobs = this.#waiting.splice(0, max);
      if (jobs.length === 0) break;
      const handled = this.#handle(jobs);
      await (maxWaitMs === undefined ? handled : within(clock, maxWaitMs, handled, undefined));
    }
    this.#running = null;
  }
}
