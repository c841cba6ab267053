/**
 * How fast files go to a viewer beside the picture, and from it beside the input. Pure except for its own state.
 *
 * The transport of data channels fills the queue of a slow link, and picture or input wait in it. So files go at a rate of
 * their own, which grows while the path has no queue and falls when it gets one: they take what the others leave. Without
 * news of the path (a viewer that reports none, a host that answers no ping) nothing is held back.
 */

/** On every link but a very slow one; it doubles until the first queue. Chosen, not measured. */
const START_BYTES_PER_MS = 128;
/** A file still arrives where the picture leaves nothing: 256 kbit/s. Chosen, not measured. */
const LEAST_BYTES_PER_MS = 32;
/** No link carries more, and the rate comes down from there in a second. */
const MAX_BYTES_PER_MS = 125_000;
/** Queueing delay that is the path's own jitter: EMPTY_MS of path-delay.ts. */
const CALM_MS = 10;
/** Less than the 25 ms at which the picture's own rate begins to fall (path-delay.ts). */
const FULL_MS = 15;
/** A person notices the delay from there on (LONG_QUEUE_MS of estimate.ts). */
const LONG_MS = 100;
/** A change shows in the reports of the path after this time. Chosen, not measured. */
const STEP_MS = 100;
const FALL = 0.5;
const GROW = 1.1;
/** Time that a frame takes at the rate; longer ones would be a queue of their own. */
const FRAME_MS = 5;
const LEAST_FRAME_BYTES = 4 * 1024;
/** What may wait in the channel: enough for the transport to go on, and little where the path becomes slow. Chosen. */
const BUFFER_MS = 50;
const LEAST_BUFFER_BYTES = 32 * 1024;
/** A timer is about so late. */
const AHEAD_MS = 2;

export class FilesPace {
  /** null: nothing is known of the path */
  #bytesPerMs: number | null = null;
  /** it doubles up to here, and grows slowly from there on */
  #knownGood = Number.POSITIVE_INFINITY;
  #steppedAtMs = Number.NEGATIVE_INFINITY;
  #freeAtMs = Number.NEGATIVE_INFINITY;
  #sentSinceStep = 0;

  /** A report of the path. @param queueMs queueing delay of its newest packets */
  heard(queueMs: number, nowMs: number): void {
    if (this.#bytesPerMs === null) {
      this.#bytesPerMs = START_BYTES_PER_MS;
      this.#steppedAtMs = nowMs;
      return;
    }
    const isLong = queueMs > LONG_MS;
    if (nowMs - this.#steppedAtMs < STEP_MS && !(isLong && this.#bytesPerMs > LEAST_BYTES_PER_MS)) return;
    // Only a rate that was used has shown that it fits.
    const used = this.#sentSinceStep >= (this.#bytesPerMs * (nowMs - this.#steppedAtMs)) / 2;
    if (queueMs > FULL_MS) {
      // A long queue empties before anything of a file joins it.
      if (this.#bytesPerMs > LEAST_BYTES_PER_MS) this.#knownGood = this.#bytesPerMs * FALL;
      this.#bytesPerMs = isLong ? LEAST_BYTES_PER_MS : Math.max(LEAST_BYTES_PER_MS, this.#knownGood);
    } else if (queueMs <= CALM_MS && used) {
      this.#bytesPerMs = Math.min(
        MAX_BYTES_PER_MS,
        this.#bytesPerMs * (2 * this.#bytesPerMs <= this.#knownGood ? 2 : GROW),
      );
    }
    this.#steppedAtMs = nowMs;
    this.#sentSinceStep = 0;
  }

  /** Another path. */
  reset(): void {
    this.#bytesPerMs = null;
    this.#knownGood = Number.POSITIVE_INFINITY;
  }

  /** Length of the next frame, at most. */
  frameBytes(most: number): number {
    if (this.#bytesPerMs === null) return most;
    return Math.min(most, Math.max(LEAST_FRAME_BYTES, Math.floor(this.#bytesPerMs * FRAME_MS)));
  }

  /**
   * Wait before the next frame, ms; 0: it may be sent.
   * @param buffered bytes that the channel has not sent yet
   */
  waitMs(buffered: number, nowMs: number): number {
    if (this.#bytesPerMs === null) return 0;
    const most = Math.max(LEAST_BUFFER_BYTES, this.#bytesPerMs * BUFFER_MS);
    const waitMs = Math.max(this.#freeAtMs - nowMs, buffered > most ? FRAME_MS : 0);
    return waitMs <= AHEAD_MS ? 0 : waitMs;
  }

  sent(bytes: number, nowMs: number): void {
    if (this.#bytesPerMs === null) return;
    this.#sentSinceStep += bytes;
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + bytes / this.#bytesPerMs;
  }
}
