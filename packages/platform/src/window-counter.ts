/** Counts events in a sliding window; remembers at most `limit` instants. */
export class WindowCounter {
  readonly #limit: number;
  readonly #windowMs: number;
  #instants: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one event. @returns true when `limit` events lie within the window */
  add(nowMs: number): boolean {
    this.#instants.push(nowMs);
    if (this.#instants.length > this.#limit) this.#instants.shift();
    return this.isFull(nowMs);
  }

  /** Whether `limit` events lie within the window that ends now. */
  isFull(nowMs: number): boolean {
    return this.#instants.length >= this.#limit && nowMs - this.#instants[0]! < this.#windowMs;
  }

  /** Milliseconds until the window has room again; 0 when it has. */
  roomInMs(nowMs: number): number {
    return this.isFull(nowMs) ? this.#instants[0]! + this.#windowMs - nowMs : 0;
  }
}
