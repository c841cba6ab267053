/**
 * How long nothing is sent, so that the queue on the path empties. Pure.
 *
 * The wait is what lies in the queue over the link's speed, counted again with every feedback. The end of what was sent
 * may have been lost where the queue was full, and then no feedback ever speaks of it: silence ends the wait too.
 */

/** A packet in flight is no queue. */
const EMPTY_BYTES = 1_500;
/**
 * Feedback comes 16 times a second while packets arrive; none for this long means that none do. A busy receiver may only
 * be late with it: a keyframe that is sent early waits behind the rest of the queue, and comes no later for that.
 */
const SILENCE_MS = 100;
const MAX_DRAIN_MS = 2_000;

export class Drain {
  readonly #startedAtMs: number;
  #untilMs: number;
  #heardAtMs: number;

  /** @param backlogBytes sent and not yet spoken of by the receiver */
  constructor(backlogBytes: number, linkKbps: number, rttMs: number, nowMs: number) {
    this.#startedAtMs = nowMs;
    // Before the first feedback after the stop, silence proves nothing.
    this.#heardAtMs = nowMs + rttMs;
    this.#untilMs = this.#end(backlogBytes, linkKbps, nowMs);
  }

  /** Feedback came. */
  heard(backlogBytes: number, linkKbps: number, nowMs: number): void {
    this.#heardAtMs = nowMs;
    this.#untilMs = this.#end(backlogBytes, linkKbps, nowMs);
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#untilMs || nowMs - this.#heardAtMs >= SILENCE_MS;
  }

  #end(backlogBytes: number, linkKbps: number, nowMs: number): number {
    if (backlogBytes <= EMPTY_BYTES) return nowMs;
    const waitMs = (backlogBytes * 8) / Math.max(linkKbps, 1);
    return Math.min(nowMs + waitMs, this.#startedAtMs + MAX_DRAIN_MS);
  }
}
