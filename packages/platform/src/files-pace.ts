/**
 * Rate of file transfers that share a viewer's path with the picture or the input. Pure except for its own state.
 *
 * The transport of data channels fills the queue of a slow link, which delays picture and input. So files have a
 * separate rate that grows while the path has no queue and falls when a queue appears: they use only the bandwidth that
 * the others leave. Without reports about the path (a viewer that sends none, a host that does not answer pings) there
 * is no limit.
 */

/**
 * Initial rate, below the capacity of all but very slow links. It doubles until the first queue. Chosen, not measured.
 */
const START_BYTES_PER_MS = 128;
/** Lowest rate, 256 kbit/s, so that a file arrives even if the picture uses the whole link. Chosen, not measured. */
const LEAST_BYTES_PER_MS = 32;
/** Highest rate, 1 Gbit/s. No link carries more, and the rate can fall from there within a second. */
const MAX_BYTES_PER_MS = 125_000;
/**
 * Queueing delay up to which the queue counts as empty, because the path's jitter is as large: EMPTY_MS of
 * path-delay.ts.
 */
const CALM_MS = 10;
/**
 * Queueing delay above which the rate falls; less than the 25 ms at which the picture's rate begins to fall
 * (path-delay.ts).
 */
const FULL_MS = 15;
/** Queueing delay above which a person notices it (LONG_QUEUE_MS of estimate.ts). */
const LONG_MS = 100;
/** Time between two changes of the rate; the path's reports show a change after this time. Chosen, not measured. */
const STEP_MS = 100;
const FALL = 0.5;
const GROW = 1.1;
/** Length of a frame as sending time; longer frames would act as a queue themselves. */
const FRAME_MS = 5;
const LEAST_FRAME_BYTES = 4 * 1024;
/**
 * Most unsent data in the channel, as sending time: enough to keep the transport busy, and little if the path becomes
 * slow. Chosen.
 */
const BUFFER_MS = 50;
const LEAST_BUFFER_BYTES = 32 * 1024;
/** Usual lateness of a timer; a shorter wait counts as none. */
const AHEAD_MS = 2;

export class FilesPace {
  /** null: no report about the path yet, so no limit. */
  #bytesPerMs: number | null = null;
  /** The rate doubles up to here, and grows slowly above. */
  #knownGood = Number.POSITIVE_INFINITY;
  #steppedAtMs = Number.NEGATIVE_INFINITY;
  #freeAtMs = Number.NEGATIVE_INFINITY;
  #sentSinceStep = 0;

  /** Handles a report about the path. @param queueMs queueing delay of its newest packets */
  heard(queueMs: number, nowMs: number): void {
    if (this.#bytesPerMs === null) {
      this.#bytesPerMs = START_BYTES_PER_MS;
      this.#steppedAtMs = nowMs;
      return;
    }
    const isLong = queueMs > LONG_MS;
    if (nowMs - this.#steppedAtMs < STEP_MS && !(isLong && this.#bytesPerMs > LEAST_BYTES_PER_MS)) return;
    // Only a rate that was actually used has proved that the path carries it.
    const used = this.#sentSinceStep >= (this.#bytesPerMs * (nowMs - this.#steppedAtMs)) / 2;
    if (queueMs > FULL_MS) {
      // A long queue must drain first, so the rate falls to the lowest.
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

  /** The path was replaced. */
  reset(): void {
    this.#bytesPerMs = null;
    this.#knownGood = Number.POSITIVE_INFINITY;
  }

  /** Most bytes of the next frame. */
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
