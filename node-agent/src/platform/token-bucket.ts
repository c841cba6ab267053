/** Lets `burst` through at once and `perSecond` in the long run. */
export class TokenBucket {
  readonly #monotonicMs: () => number;
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledAtMs: number;

  constructor(monotonicMs: () => number, perSecond: number, burst: number) {
    this.#monotonicMs = monotonicMs;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAtMs = monotonicMs();
  }

  get isEmpty(): boolean {
    this.#fill();
    return this.#tokens < 1;
  }

  /** @returns whether there was a token; it is gone then */
  take(): boolean {
    if (this.isEmpty) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes a token for something that cannot wait; who asks next waits the longer, up to the time of a burst. */
  overdraw(): void {
    this.#fill();
    this.#tokens = Math.max(-this.#burst, this.#tokens - 1);
  }

  #fill(): void {
    const nowMs = this.#monotonicMs();
    this.#tokens = Math.min(
      this.#burst,
      this.#tokens + ((nowMs - this.#filledAtMs) * this.#perSecond) / 1000,
    );
    this.#filledAtMs = nowMs;
  }
}
