/**
 * At most two keyframes a second, whatever is asked. Pure.
 *
 * A request that comes too soon is not lost, since a viewer without a keyframe shows nothing: it waits, and all that
 * wait are served by one.
 */

const WINDOW_MS = 1_000;
const PER_WINDOW = 2;

export class KeyframeLimit {
  #madeAtMs: number[] = [];

  /** @returns how long to wait before making one, milliseconds; 0 = now, and it counts as made */
  ask(nowMs: number): number {
    this.#madeAtMs = this.#madeAtMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    const oldest = this.#madeAtMs[0];
    if (oldest !== undefined && this.#madeAtMs.length >= PER_WINDOW) return oldest + WINDOW_MS - nowMs;
    this.#madeAtMs.push(nowMs);
    return 0;
  }
}
