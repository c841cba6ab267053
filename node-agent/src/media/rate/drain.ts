/**
 * Computes how long sending must pause until the queue on the path is empty. Pure.
 *
 * The time is the number of queued bytes divided by the link's rate; it is recomputed with every feedback. If a full
 * queue dropped the last packets, no feedback reports them, so silence ends the wait too.
 */

/** Largest backlog of an empty queue: one packet, which is in flight and not queued. */
const EMPTY_BYTES = 1_500;
/**
 * While packets arrive, a receiver sends feedback 16 times a second; a longer silence means that no packets arrive. If
 * a busy receiver is only late, the keyframe is sent too early; it then waits behind the rest of the queue and arrives
 * no later.
 */
const SILENCE_MS = 100;
/**
 * Longest wait. After this time, a frozen picture is worse than a queue that is not empty yet. Chosen, not measured.
 */
const MAX_DRAIN_MS = 2_000;

export class Drain {
  readonly #startedAtMs: number;
  #untilMs: number;
  #heardAtMs: number;

  /** @param backlogBytes bytes that were sent but not yet reported by the receiver */
  constructor(backlogBytes: number, linkKbps: number, rttMs: number, nowMs: number) {
    this.#startedAtMs = nowMs;
    // Before the first feedback about the stop can arrive, silence proves nothing.
    this.#heardAtMs = nowMs + rttMs;
    this.#untilMs = this.#end(backlogBytes, linkKbps, nowMs);
  }

  /** Handles a feedback packet. */
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
