import type { Clock, Timer } from './timer.ts';

/**
 * Interval of the checks: a tenth of the shortest limit in use (2.5 s), so a report is late by at most a tenth of the
 * limit.
 */
const CHECK_PERIOD_MS = 250;

/**
 * Reports once when a peer has been silent for `limitMs`. Time in which this process was paused (stopped, starved,
 * machine asleep) does not count, because unread messages may be waiting.
 *
 * watching (from its construction) → silent (reported) or closed; both are final. Owns one timer, which is freed in
 * both cases.
 */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilent: () => void;
  readonly #timer: Timer;
  #heardAtMs: number;
  #checkedAtMs: number;

  constructor(clock: Clock, limitMs: number, onSilent: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilent = onSilent;
    this.#heardAtMs = clock.monotonicMs();
    this.#checkedAtMs = this.#heardAtMs;
    this.#timer = clock.setInterval(() => this.#check(), CHECK_PERIOD_MS);
  }

  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  close(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - this.#checkedAtMs - CHECK_PERIOD_MS;
    this.#checkedAtMs = nowMs;
    if (lateMs > CHECK_PERIOD_MS) this.#heardAtMs += lateMs;
    if (nowMs - this.#heardAtMs < this.#limitMs) return;
    this.close();
    this.#onSilent();
  }
}
