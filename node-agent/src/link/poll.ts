import type { Clock, Random, Timer } from '@footlight/platform';

/**
 * Each poll is moved earlier or later by a random share of the interval, at most this share, so that the polls of a
 * fleet spread out.
 */
const JITTER = 0.1;

/**
 * Repeats a call at an interval, one call at a time. A failed call is not retried before the next interval.
 *
 * Teardown: `stop` cancels the next call, aborts the running call and waits for its end.
 */
export class Poll {
  readonly #options: {
    everyMs: number;
    clock: Pick<Clock, 'setTimeout'>;
    random: Pick<Random, 'number'>;
    /** Makes one call. Never rejects; settles soon after the abort. */
    poll: (stopping: AbortSignal) => Promise<void>;
  };
  #timer: Timer | null = null;
  #running: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(options: {
    everyMs: number;
    clock: Pick<Clock, 'setTimeout'>;
    random: Pick<Random, 'number'>;
    poll: (stopping: AbortSignal) => Promise<void>;
  }) {
    this.#options = options;
  }

  /** A second start does nothing. @param withinMs the first call is made at a random time within this time */
  start(withinMs: number): void {
    if (this.#timer !== null) return;
    this.#callIn(withinMs * this.#options.random.number());
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the agent stops'));
    this.#timer?.cancel();
    await this.#running;
  }

  #callIn(delayMs: number): void {
    if (this.#stopping.signal.aborted) return;
    const { clock, everyMs, poll, random } = this.#options;
    this.#timer = clock.setTimeout(() => {
      this.#callIn(everyMs * (1 - JITTER + 2 * JITTER * random.number()));
      this.#running = this.#running.then(() => poll(this.#stopping.signal));
    }, delayMs);
  }
}
