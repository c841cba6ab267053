/**
 * Limits keyframes on request to two a second. Pure.
 *
 * An early request waits instead of being dropped, because a viewer without a keyframe shows nothing. Waiting
 * requests are coalesced. A keyframe in the encoder also answers new requests, so a viewer that asks at each step of
 * connecting uses one of the two.
 */

/** Two keyframes a second on request (docs/media.md, "Delay"). */
const WINDOW_MS = 1_000;
const PER_WINDOW = 2;
/** Time after which an ordered keyframe counts as lost: several frames at the lowest usual rate (30 fps). */
const MAKING_MS = 250;

export class KeyframeLimit {
  #madeAtMs: number[] = [];
  /** Time of an order without its keyframe; null = none. */
  #orderedAtMs: number | null = null;

  get isBeingMade(): boolean {
    return this.#orderedAtMs !== null;
  }

  /**
   * @returns wait before the order, milliseconds; 0 = now, and it counts as ordered; null = a keyframe is in the
   * encoder
   */
  request(nowMs: number): number | null {
    if (this.#orderedAtMs !== null && nowMs - this.#orderedAtMs < MAKING_MS) return null;
    this.#madeAtMs = this.#madeAtMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    const oldest = this.#madeAtMs[0];
    if (oldest !== undefined && this.#madeAtMs.length >= PER_WINDOW) return oldest + WINDOW_MS - nowMs;
    this.#madeAtMs.push(nowMs);
    this.#orderedAtMs = nowMs;
    return 0;
  }

  /** A keyframe left the encoder. */
  onKeyframe(): void {
    this.#orderedAtMs = null;
  }
}
