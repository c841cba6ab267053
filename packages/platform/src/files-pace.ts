/**
 * Rate of file transfers that share a viewer's path with the picture or the input. Pure except for its own state.
 *
 * The transport of data channels fills the queue of a slow link, which delays picture and input. So files have a
 * separate rate, which grows while the path has no queue and falls when a queue appears. Files therefore use only the
 * bandwidth that picture and input do not need. Without reports about the path (a viewer that sends none, a host that
 * does not answer pings) there is no limit.
 */

/**
 * Initial rate. It is below the capacity of all links except very slow ones, and doubles until a queue appears. Chosen,
 * not measured.
 */
const START_BYTES_PER_MS = 128;
/** Lowest rate, 256 kbit/s, so that a file arrives even if the picture uses the whole link. Chosen, not measured. */
const LEAST_BYTES_PER_MS = 32;
/** Highest rate, 1 Gbit/s. Links are not faster, and the rate can fall from this value within a second. */
const MAX_BYTES_PER_MS = 125_000;
/**
 * Queueing delay up to which the queue counts as empty, because the path's jitter can be this large (EMPTY_MS of
 * path-delay.ts).
 */
const CALM_MS = 10;
/**
 * Queueing delay above which the rate falls. It is less than the 25 ms at which the picture's rate begins to fall
 * (path-delay.ts), so the files' rate falls first.
 */
const FULL_MS = 15;
/** Queueing delay that a person notices (LONG_QUEUE_MS of estimate.ts). */
const LONG_MS = 100;
/**
 * Time between two changes of the rate, after which the path's reports show the effect of a change. Chosen, not
 * measured.
 */
const STEP_MS = 100;
const FALL = 0.5;
const GROW = 1.1;
/** Longest frame, as the time of sending it. A longer frame would itself delay the picture like a queue. */
const FRAME_MS = 5;
const LEAST_FRAME_BYTES = 4 * 1024;
/**
 * Largest amount of unsent data in the channel, as the time of sending it. It keeps the transport busy, and is soon
 * sent even if the path becomes slow. Chosen, not measured.
 */
const BUFFER_MS = 50;
const LEAST_BUFFER_BYTES = 32 * 1024;
/** Usual lateness of a timer; a wait that is shorter than this is skipped. */
const AHEAD_MS = 2;

export class FilesPace {
  /** null: no report about the path has arrived yet, so there is no limit. */
  #bytesPerMs: number | null = null;
  /** Rate up to which the rate doubles; above it, the rate grows slowly. */
  #knownGood = Number.POSITIVE_INFINITY;
  #steppedAtMs = Number.NEGATIVE_INFINITY;
  #freeAtMs = Number.NEGATIVE_INFINITY;
  #sentSinceStep = 0;

  /** Handles a report about the path. @param queueMs queueing delay of the newest packets in the report */
  heard(queueMs: number, nowMs: number): void {
    if (this.#bytesPerMs === null) {
      this.#bytesPerMs = START_BYTES_PER_MS;
      this.#steppedAtMs = nowMs;
      return;
    }
    const isLong = queueMs > LONG_MS;
    if (nowMs - this.#steppedAtMs < STEP_MS && !(isLong && this.#bytesPerMs > LEAST_BYTES_PER_MS)) return;
    // Whether the rate was really used. If it was not, a path without a queue does not prove that it can carry the
    // rate.
    const used = this.#sentSinceStep >= (this.#bytesPerMs * (nowMs - this.#steppedAtMs)) / 2;
    if (queueMs > FULL_MS) {
      // The rate falls to the lowest rate, because a long queue must drain first.
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

  /** Called when another path replaces this one. */
  reset(): void {
    this.#bytesPerMs = null;
    this.#knownGood = Number.POSITIVE_INFINITY;
  }

  /** Largest number of bytes in the next frame. */
  frameBytes(most: number): number {
    if (this.#bytesPerMs === null) return most;
    return Math.min(most, Math.max(LEAST_FRAME_BYTES, Math.floor(this.#bytesPerMs * FRAME_MS)));
  }

  /**
   * Wait before the next frame in milliseconds; 0: the frame may be sent now.
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
