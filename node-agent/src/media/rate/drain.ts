/**
 * Time without sending until the queue on the path is empty. Pure.
 *
 * The wait is the queue's bytes over the link's rate, recomputed with every feedback. If a full queue lost the end of
 * what was sent, no feedback ever reports it, so silence ends the wait too.
 */

/** Backlog of one packet, which is in flight and not queued. */
const EMPTY_BYTES = 1_500;
/**
 * Feedback comes 16 times a second while packets arrive; a longer silence means that none arrive. A busy receiver may
 * only be late: an early keyframe then waits behind the rest of the queue and arrives no later.
 */
const SILENCE_MS = 100;
/** After this, a frozen picture is worse than the rest of the queue. Chosen, not measured. */
const MAX_DRAIN_MS = 2_000;

export class Drain {
  readonly #startedAtMs: number;
  #untilMs: number;
  #heardAtMs: number;

  /** @param backlogBytes sent and not yet reported by the receiver */
  constructor(backlogBytes: number, linkKbps: number, rttMs: number, nowMs: number) {
    this.#startedAtMs = nowMs;
    // Silence proves nothing before the first feedback after the stop.
    this.#heardAtMs = nowMs + rttMs;
    this.#untilMs = this.#end(backlogBytes, linkKbps, nowMs);
  }

  /** Handles feedback. */
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
