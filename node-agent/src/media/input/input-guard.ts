/** Limits the messages of one viewer. Pure. */

import {
  INPUT_FLOOD_MS,
  INPUT_MALFORMED_LIMIT,
  INPUT_MALFORMED_WINDOW_MS,
  INPUT_RATE_PER_SECOND,
  MOTION_RATE_PER_SECOND,
  PING_MAX_PER_SECOND,
} from '@footlight/protocol/input';

/**
 * Largest number and length of messages per second on the control channel. A viewer needs five clipboards
 * (CLIPBOARD_PER_SECOND), each at most 128 KiB long when escaped, and five freezes. The worker needs 1 ms to read 60 KB
 * of clipboard (two busy cores), so a flood of messages would delay pictures and input.
 */
const CONTROL_PER_SECOND = 50;
const CONTROL_LENGTH_PER_SECOND = 1024 * 1024;

/** Counts events in windows of one second. */
export class RateWindow {
  readonly #limit: number;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** @param limit events per second */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @param amount weight of the event @returns false when over the limit */
  take(nowMs: number, amount = 1): boolean {
    if (nowMs - this.#startedAtMs >= 1000) {
      this.#startedAtMs = nowMs;
      this.#count = 0;
    }
    this.#count += amount;
    return this.#count <= this.#limit;
  }
}

/** Limits of one viewer's messages on each channel, per second. Pure. Each connection has its own guard. */
export class InputGuard {
  readonly #motion = new RateWindow(MOTION_RATE_PER_SECOND);
  readonly #pings = new RateWindow(PING_MAX_PER_SECOND);
  readonly #control = new RateWindow(CONTROL_PER_SECOND);
  readonly #controlLength = new RateWindow(CONTROL_LENGTH_PER_SECOND);
  #second = Number.NEGATIVE_INFINITY;
  #secondCount = 0;
  /** Start of the time over the limit; null: the last full second was within the limit. */
  #floodSinceMs: number | null = null;
  #malformedAtMs: number[] = [];

  motion(nowMs: number): boolean {
    return this.#motion.take(nowMs);
  }

  ping(nowMs: number): boolean {
    return this.#pings.take(nowMs);
  }

  /**
   * Counts one message of the control channel.
   * @param length bytes or characters @returns false: the message must not be read
   */
  control(length: number, nowMs: number): boolean {
    const isLong = !this.#controlLength.take(nowMs, length);
    return this.#control.take(nowMs) && !isLong;
  }

  /**
   * Counts one message of the ordered channel. These messages are never dropped, because a lost message cannot be
   * repeated. Instead, a sender that exceeds the limit for 5 s is disconnected.
   * @returns true when the connection must be closed
   */
  input(nowMs: number): boolean {
    if (nowMs - this.#second >= 1000) {
      const wasOver = this.#secondCount > INPUT_RATE_PER_SECOND;
      // A full second without messages ends the time over the limit.
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
