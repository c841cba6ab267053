/**
 * Loss share of the picture, once a second. Pure.
 *
 * A receiver that misses packets reports many times a second about few packets each; counting every report would
 * count one burst several times. So losses are computed from the totals once a second.
 */

/** 60 frames: long enough for a share, short enough to react within two seconds. */
const WINDOW_MS = 1_000;

export interface LossTotals {
  /** Since the start (count). */
  packetsLost: number;
  /** Highest received sequence number, with its wraps in the upper bits. */
  highestSequence: number;
}

export class LossShare {
  #from: (LossTotals & { atMs: number }) | null = null;

  /** Handles a report. @returns 0–1 when a second has passed since the last share, else null */
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
