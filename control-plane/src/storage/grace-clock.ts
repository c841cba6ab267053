import { type Clock, MINUTE_MS } from '@footlight/platform';
import { HOME_GRACE_MS } from './collection-rules.ts';

/**
 * A difference above this between wall clock and monotonic clock means that the wall clock was set, not just corrected.
 * Chosen, not measured.
 */
const CORRECTION_MS = MINUTE_MS;

/**
 * A jump of the wall clock into the future: its new offset to the monotonic clock, and the monotonic time of the jump.
 */
interface Step {
  offsetMs: number;
  sinceMs: number;
}

/**
 * The clock for the grace period of homes. A jump of the wall clock into the future takes effect only after it has
 * lasted for a whole grace period. Otherwise a clock that is wrong for a minute would end the grace period of every
 * home. A jump back takes effect at once. The wall clock at the start of the process is trusted.
 */
export class GraceClock {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  #offsetMs: number;
  /** Jumps that have not taken effect yet; each is further in the future than the one before. */
  #steps: Step[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs' | 'nowMs'>) {
    this.#clock = clock;
    this.#offsetMs = clock.nowMs() - clock.monotonicMs();
  }

  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const offsetMs = this.#clock.nowMs() - monotonicMs;
    this.#offsetMs = Math.min(this.#offsetMs, offsetMs);
    this.#steps = this.#steps
      .filter((step) => step.offsetMs - offsetMs <= CORRECTION_MS)
      .map((step) => ({ ...step, offsetMs: Math.min(step.offsetMs, offsetMs) }));
    const highestMs = this.#steps.at(-1)?.offsetMs ?? this.#offsetMs;
    if (offsetMs - highestMs > CORRECTION_MS) this.#steps.push({ offsetMs, sinceMs: monotonicMs });
    else if (this.#steps.length === 0) this.#offsetMs = offsetMs;
    for (const step of this.#steps.filter(({ sinceMs }) => monotonicMs - sinceMs >= HOME_GRACE_MS)) {
      this.#offsetMs = step.offsetMs;
      this.#steps.shift();
    }
    return this.#offsetMs + monotonicMs;
  }
}
