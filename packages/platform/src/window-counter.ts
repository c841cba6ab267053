/** Counts events in a sliding window; stores at most `limit` times. */
export class WindowCounter {
  readonly #limit: number;
  readonly #windowMs: number;
  #instants: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one event. @returns true when the window has `limit` events */
  add(nowMs: number): boolean {
    this.#instants.push(nowMs);
    if (this.#instants.length > this.#limit) this.#instants.shift();
    return this.isFull(nowMs);
  }

  /** Counts one event if the window has space. @returns false: it has none, and nothing was counted */
  take(nowMs: number): boolean {
    if (this.isFull(nowMs)) return false;
    this.add(nowMs);
    return true;
  }

  /** Whether the current window has `limit` events. */
  isFull(nowMs: number): boolean {
    return this.#instants.length >= this.#limit && nowMs - this.#instants[0]! < this.#windowMs;
  }

  /** Milliseconds until the window has space; 0: now. */
  roomInMs(nowMs: number): number {
    return this.isFull(nowMs) ? this.#instants[0]! + this.#windowMs - nowMs : 0;
  }
}
