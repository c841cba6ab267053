import type { Pong } from '@footlight/protocol/input';

/** Two clocks drift by 3 ms at most meanwhile (100 ppm), and a path is empty once. */
const WINDOW_MS = 30_000;

/**
 * Queueing delay of the way to the host, which input shares with files, from pings. Pure; reset() with a connection.
 * The offset of the two clocks is in every sample, so only what is above the smallest one counts.
 */
export class UpQueue {
  #window = 0;
  #least = Number.POSITIVE_INFINITY;
  #formerLeast = Number.POSITIVE_INFINITY;

  /** Forgets the path. */
  reset(): void {
    this.#least = Number.POSITIVE_INFINITY;
    this.#formerLeast = Number.POSITIVE_INFINITY;
  }

  /** @returns ms above the fastest ping of the last 30 to 60 s */
  add({ client_ms, receive_ms }: Pick<Pong, 'client_ms' | 'receive_ms'>): number {
    const window = Math.floor(client_ms / WINDOW_MS);
    if (window !== this.#window) {
      this.#formerLeast = window === this.#window + 1 ? this.#least : Number.POSITIVE_INFINITY;
      this.#least = Number.POSITIVE_INFINITY;
      this.#window = window;
    }
    const wayMs = receive_ms - client_ms;
    this.#least = Math.min(this.#least, wayMs);
    return wayMs - Math.min(this.#least, this.#formerLeast);
  }
}
