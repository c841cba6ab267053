import { type Clock, MINUTE_MS } from '@footlight/platform';

/** Of one kind of line. */
const LINES_PER_MINUTE = 120;

/**
 * Bounds lines of the log that requests cause. Some are caused by anybody: while the database is away each request
 * fails, and a stranger could fill the disk with its stack.
 */
export class LineBudget {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #lines = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** @returns false: this minute has had its lines */
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
