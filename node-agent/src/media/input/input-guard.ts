import {
  INPUT_FLOOD_MS,
  INPUT_MALFORMED_LIMIT,
  INPUT_MALFORMED_WINDOW_MS,
  INPUT_RATE_PER_SECOND,
  MOTION_RATE_PER_SECOND,
  PING_MAX_PER_SECOND,
} from '@footlight/protocol/input';

/**
 * How much one viewer may send. Pure: instants go in, verdicts come out.
 */

/** Counts in windows of a second. */
export class RateWindow {
  readonly #limit: number;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** @param limit events per second */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns false when this one is over the limit */
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
  /** When the run of seconds over the rate began; null = the last full second was within it. */
  #floodSinceMs: number | null = null;
  #malformedAtMs: number[] = [];

  motion(nowMs: number): boolean {
    return this.#motion.take(nowMs);
  }

  ping(nowMs: number): boolean {
    return this.#pings.take(nowMs);
  }

  /**
   * One message on the ordered channel. Nothing of it is dropped, since what is lost there stays lost; a sender
   * that stays over the rate for 5 s is cut off.
   * @returns true when the connection is to be closed
   */
  input(nowMs: number): boolean {
    if (nowMs - this.#second >= 1000) {
      const wasOver = this.#secondCount > INPUT_RATE_PER_SECOND;
      // A gap of a whole second ends the run as a quiet second does.
      if (!wasOver || nowMs - this.#second >= 2000) this.#floodSinceMs = null;
      this.#second = nowMs;
      this.#secondCount = 0;
    }
    this.#secondCount++;
    if (this.#secondCount > INPUT_RATE_PER_SECOND) this.#floodSinceMs ??= this.#second;
    return this.#floodSinceMs !== null && nowMs - this.#floodSinceMs >= INPUT_FLOOD_MS;
  }

  /** One message that could not be read. @returns true when the connection is to be closed */
  malformed(nowMs: number): boolean {
    this.#malformedAtMs.push(nowMs);
    const from = nowMs - INPUT_MALFORMED_WINDOW_MS;
    while ((this.#malformedAtMs[0] ?? nowMs) < from) this.#malformedAtMs.shift();
    return this.#malformedAtMs.length >= INPUT_MALFORMED_LIMIT;
  }
}
