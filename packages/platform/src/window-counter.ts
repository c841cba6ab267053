/** Counts events in a sliding window. Stores the times of at most `limit` events. */
export class WindowCounter {
  readonly #limit: number;
  readonly #windowMs: number;
  #instants: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one event. @returns true: the window now has `limit` events */
  add(nowMs: number): boolean {
    this.#instants.push(nowMs);
    if (this.#instants.length > this.#limit) this.#instants.shift();
    return this.isFull(nowMs);
  }

  /**
   * Counts one event if the window has less than `limit` events.
   * @returns false: the window is full, so nothing was counted
   */
  take(nowMs: number): boolean {
    if (this.isFull(nowMs)) return false;
    this.add(nowMs);
    return true;
  }

  /** Whether the current window has `limit` events. */
  isFull(nowMs: number): boolean {
    return this.#instants.length >= this.#limit && nowMs - this.#instants[0]! < this.#windowMs;
  }

  /** Milliseconds until another event is allowed; 0: now. */
  roomInMs(nowMs: number): number {
    return this.isFull(nowMs) ? this.#instants[0]! + this.#windowMs - nowMs : 0;
  }
}
