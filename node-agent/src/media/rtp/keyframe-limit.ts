/**
 * Limits keyframes on request, by default to two a second. Pure.
 *
 * A request that arrives too early waits instead of being dropped, because a viewer without a keyframe shows nothing.
 * Waiting requests are coalesced. If a keyframe is being encoded, it also answers new requests. So a viewer that
 * requests a keyframe at each step of connecting uses only one of the two.
 */

/** Two keyframes a second on request (docs/media.md, "Delay"). */
const DEFAULT_LIMIT = { windowMs: 1_000, perWindow: 2 };
/** Time after which a requested keyframe counts as lost: several frames at the lowest usual rate (30 fps). */
const MAKING_MS = 250;

export class KeyframeLimit {
  readonly #windowMs: number;
  readonly #perWindow: number;
  #madeAtMs: number[] = [];
  /**
   * Time of the request for a keyframe that has not left the encoder yet; null: no keyframe is expected.
   */
  #orderedAtMs: number | null = null;

  constructor({ windowMs, perWindow }: { windowMs: number; perWindow: number } = DEFAULT_LIMIT) {
    this.#windowMs = windowMs;
    this.#perWindow = perWindow;
  }

  get isBeingMade(): boolean {
    return this.#orderedAtMs !== null;
  }

  /**
   * @returns the time to wait before the request is sent to the encoder, in milliseconds; 0: send it now; null: a
   * keyframe is already being encoded
   */
  request(nowMs: number): number | null {
    if (this.#orderedAtMs !== null && nowMs - this.#orderedAtMs < MAKING_MS) return null;
    this.#madeAtMs = this.#madeAtMs.filter((atMs) => nowMs - atMs < this.#windowMs);
    const oldest = this.#madeAtMs[0];
    if (oldest !== undefined && this.#madeAtMs.length >= this.#perWindow)
      return oldest + this.#windowMs - nowMs;
    this.#madeAtMs.push(nowMs);
    this.#orderedAtMs = nowMs;
    return 0;
  }

  /** Called when a keyframe left the encoder. */
  onKeyframe(): void {
    this.#orderedAtMs = null;
  }
}
