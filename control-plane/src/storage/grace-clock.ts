import { type Clock, MINUTE_MS } from '@footlight/platform';
import { HOME_GRACE_MS } from './collection-rules.ts';

/** A wall clock that moves further than this against the monotonic one was set, not corrected. Chosen, not measured. */
const CORRECTION_MS = MINUTE_MS;

/** The wall clock was set ahead: to this far before the monotonic one, at this monotonic time. */
interface Step {
  offsetMs: number;
  sinceMs: number;
}

/**
 * The time by which the grace of homes ends. A wall clock that is set ahead counts once it has stayed there for a grace,
 * or a clock that is wrong for a minute would end the grace of every home. One that is set back counts at once. What
 * the clock shows when the process starts is believed.
 */
export class GraceClock {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  #offsetMs: number;
  /** Those that do not count yet, each further ahead than the one before. */
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
