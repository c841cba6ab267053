/**
 * At most two keyframes a second, whatever is asked. Pure.
 *
 * A request that comes too soon is not lost, since a viewer without a keyframe shows nothing: it waits, and all that
 * wait are served by one. One that is being made serves everybody who asks meanwhile, so a viewer who asks at each step of
 * connecting takes one of the two, not both.
 */

const WINDOW_MS = 1_000;
const PER_WINDOW = 2;
/** An encoder that has not obeyed by then has lost the order. */
const MAKING_MS = 250;

export class KeyframeLimit {
  #madeAtMs: number[] = [];
  /** When the one that has not come out yet was ordered; null = none. */
  #orderedAtMs: number | null = null;

  get isBeingMade(): boolean {
    return this.#orderedAtMs !== null;
  }

  /**
   * @returns how long to wait before ordering one, milliseconds; 0 = now, and it counts as ordered;
   *   null = one is being made
   */
  ask(nowMs: number): number | null {
    if (this.#orderedAtMs !== null && nowMs - this.#orderedAtMs < MAKING_MS) return null;
    this.#madeAtMs = this.#madeAtMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    const oldest = this.#madeAtMs[0];
    if (oldest !== undefined && this.#madeAtMs.length >= PER_WINDOW) return oldest + WINDOW_MS - nowMs;
    this.#madeAtMs.push(nowMs);
    this.#orderedAtMs = nowMs;
    return 0;
  }

  /** A keyframe came out of the encoder. */
  cameOut(): void {
    this.#orderedAtMs = null;
  }
}
