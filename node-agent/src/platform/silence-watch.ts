import type { Clock, Timer } from '@footlight/platform';

const LOOK_MS = 250;

/**
 * Reports once when a peer has been silent for a while. Time in which this process was paused (stopped, starved,
 * machine asleep) does not count, because unread messages may be waiting.
 */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilent: () => void;
  readonly #timer: Timer;
  #heardAtMs: number;
  #lookedAtMs: number;

  constructor(clock: Clock, limitMs: number, onSilent: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilent = onSilent;
    this.#heardAtMs = clock.monotonicMs();
    this.#lookedAtMs = this.#heardAtMs;
    this.#timer = clock.setInterval(() => this.#look(), LOOK_MS);
  }

  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  close(): void {
    this.#timer.cancel();
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - this.#lookedAtMs - LOOK_MS;
    this.#lookedAtMs = nowMs;
    if (lateMs > LOOK_MS) this.#heardAtMs += lateMs;
    if (nowMs - this.#heardAtMs < this.#limitMs) return;
    this.close();
    this.#onSilent();
  }
}
