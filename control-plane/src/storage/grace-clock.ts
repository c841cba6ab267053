import { type Clock, MINUTE_MS } from '@footlight/platform';
import { HOME_GRACE_MS } from './collection-rules.ts';

/**
 * A jump of the wall clock against the monotonic one by more than this means that the clock was set, not corrected.
 * Chosen, not measured.
 */
const CORRECTION_MS = MINUTE_MS;

/** A jump ahead of the wall clock: by this much against the monotonic clock, at this monotonic time. */
interface Step {
  offsetMs: number;
  sinceMs: number;
}

/**
 * The clock for the grace of homes. A jump ahead of the wall clock takes effect only after it has lasted for a whole
 * grace; otherwise a clock that is wrong for a minute would end the grace of every home. A jump back takes effect at
 * once. The wall clock at the start of the process is trusted.
 */
export class GraceClock {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  #offsetMs: number;
  /** Jumps that have not taken effect yet, each further ahead than the one before. */
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
