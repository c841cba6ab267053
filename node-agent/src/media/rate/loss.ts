/**
 * Share of the picture's packets that got lost, once a second. Pure.
 *
 * A receiver that misses packets reports many times a second, each time about the few packets since the last report:
 * taken one by one, a single burst would count again and again. So losses are counted over a second from the totals.
 */

const WINDOW_MS = 1_000;

export interface LossTotals {
  /** Since the start (count). */
  packetsLost: number;
  /** Highest sequence number received, with the count of its wraps above it. */
  highestSequence: number;
}

export class LossShare {
  #from: (LossTotals & { atMs: number }) | null = null;

  /** A report came. @returns 0–1 once a second has passed since the last share, null before */
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
