import type { Clock } from '@footlight/platform';

/** Counts events in a sliding window; bounded by its own limit. */
export class WindowCounter {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #atMs: number[] = [];

  constructor(clock: Clock, limit: number, windowMs: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** @returns whether this event reached the limit within the window */
  hit(): boolean {
    const nowMs = this.#clock.monotonicMs();
    while (this.#atMs.length > 0 && (this.#atMs[0] ?? nowMs) <= nowMs - this.#windowMs) this.#atMs.shift();
    this.#atMs.push(nowMs);
    if (this.#atMs.length > this.#limit) this.#atMs.shift();
    return this.#atMs.length >= this.#limit;
  }
}
