import {
  INPUT_FLOOD_MS,
  INPUT_MALFORMED_LIMIT,
  INPUT_MALFORMED_WINDOW_MS,
  INPUT_RATE_PER_SECOND,
  MOTION_RATE_PER_SECOND,
  PING_MAX_PER_SECOND,
} from '@footlight/protocol/input';

/** Limits the messages of one viewer. Pure: times in, verdicts out. */

/** Counts events in windows of one second. */
export class RateWindow {
  readonly #limit: number;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** @param limit events per second */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns false when over the limit */
  take(nowMs: number): boolean {
    if (nowMs - this.#startedAtMs >= 1000) {
      this.#startedAtMs = nowMs;
      this.#count = 0;
    }
    this.#count++;
    return this.#count <= this.#limit;
  }
}

export class InputGuard {
  readonly #motion = new RateWindow(MOTION_RATE_PER_SECOND);
  readonly #pings = new RateWindow(PING_MAX_PER_SECOND);
  #second = Number.NEGATIVE_INFINITY;
  #secondCount = 0;
  /** Start of the seconds over the rate; null = the last full second was within it. */
  #floodSinceMs: number | null = null;
  #malformedAtMs: number[] = [];

  motion(nowMs: number): boolean {
    return this.#motion.take(nowMs);
  }

  ping(nowMs: number): boolean {
    return this.#pings.take(nowMs);
  }

  /**
   * Counts one message of the ordered channel. Messages are never dropped, because a lost one cannot be repeated; a
   * sender over the rate for 5 s is disconnected.
   * @returns true when the connection must be closed
   */
  input(nowMs: number): boolean {
    if (nowMs - this.#second >= 1000) {
      const wasOver = this.#secondCount > INPUT_RATE_PER_SECOND;
      // A pause of a whole second ends the run.
      if (!wasOver || nowMs - this.#second >= 2000) this.#floodSinceMs = null;
      this.#second = nowMs;
      this.#secondCount = 0;
    }
    this.#secondCount++;
    if (this.#secondCount > INPUT_RATE_PER_SECOND) this.#floodSinceMs ??= this.#second;
    return this.#floodSinceMs !== null && nowMs - this.#floodSinceMs >= INPUT_FLOOD_MS;
  }

  /** Counts one unreadable message. @returns true when the connection must be closed */
  malformed(nowMs: number): boolean {
    this.#malformedAtMs.push(nowMs);
    const from = nowMs - INPUT_MALFORMED_WINDOW_MS;
    while ((this.#malformedAtMs[0] ?? nowMs) < from) this.#malformedAtMs.shift();
    return this.#malformedAtMs.length >= INPUT_MALFORMED_LIMIT;
  }
}
