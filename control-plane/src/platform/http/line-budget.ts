import { type Clock, MINUTE_MS } from '@footlight/platform';

/** Log lines of one kind per minute. */
const LINES_PER_MINUTE = 120;

/**
 * Limits log lines that requests cause. While the database is down each request fails, and an unauthenticated client
 * could fill the disk with stack traces.
 */
export class LineBudget {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #lines = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** @returns false: this minute's lines are used up */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowStartMs >= MINUTE_MS) {
      this.#windowStartMs = nowMs;
      this.#lines = 0;
    }
    this.#lines += 1;
    return this.#lines <= LINES_PER_MINUTE;
  }
}
