/** Allows bursts of `burst` events, and `perSecond` events on average. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledMs: number;

  /** @param nowMs monotonic milliseconds; the same in all methods */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledMs = nowMs;
  }

  isEmpty(nowMs: number): boolean {
    this.#fill(nowMs);
    return this.#tokens < 1;
  }

  /**
   * Takes one or several tokens. One available token is enough; missing tokens become a debt, which delays later
   * events.
   * @returns false: no token is available
   */
  take(nowMs: number, tokens = 1): boolean {
    if (this.isEmpty(nowMs)) return false;
    this.#tokens -= tokens;
    return true;
  }

  /**
   * Takes a token for an event that cannot wait. If no token is available, the debt delays later events, by at most the
   * time of one burst.
   */
  overdraw(nowMs: number): void {
    this.#fill(nowMs);
    this.#tokens = Math.max(-this.#burst, this.#tokens - 1);
  }

  #fill(nowMs: number): void {
    const refill = ((nowMs - this.#filledMs) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + refill);
    this.#filledMs = nowMs;
  }
}
