import type { Pong } from '@footlight/protocol/input';

/**
 * Length of a window in which the fastest ping is determined. In this time two clocks drift apart by at most 3 ms (100
 * ppm), and the queue is empty at least once.
 */
const WINDOW_MS = 30_000;

/**
 * Measures the queueing delay of the path to the host, from pings. Input and files share this path. Pure; call reset()
 * for a new connection. The measured time of every ping includes the offset of the two clocks, so only the difference
 * to the fastest ping counts.
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
