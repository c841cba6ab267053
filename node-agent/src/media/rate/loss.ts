/**
 * Computes the share of the picture's packets that were lost, once a second. Pure.
 *
 * While packets are missing, a receiver sends many reports a second, each about few packets. If every report were used,
 * one burst would be counted several times. So losses are computed once a second, from the totals.
 */

/** Length of the window: 60 frames at 60 fps are enough for a share, and rate control reacts within two seconds. */
const WINDOW_MS = 1_000;

export interface LossTotals {
  /** Number of lost packets since the start. */
  packetsLost: number;
  /** Highest received sequence number; its wraps are counted in the upper bits. */
  highestSequence: number;
}

export class LossShare {
  #from: (LossTotals & { atMs: number }) | null = null;

  /** Handles a report. @returns the share (0-1) when a second has passed since the last share; otherwise null */
  report(totals: LossTotals, nowMs: number): number | null {
    const from = this.#from;
    const isWhole = from !== null && nowMs - from.atMs >= WINDOW_MS;
    if (from === null || isWhole) this.#from = { ...totals, atMs: nowMs };
    if (from === null || !isWhole) return null;
    const expected = totals.highestSequence - from.highestSequence;
    if (expected <= 0) return 0;
    return Math.min(1, Math.max(0, (totals.packetsLost - from.packetsLost) / expected));
  }
}
