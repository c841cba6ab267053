/** Frames kept for a connection without keys: the key exchange takes two round trips, here 200 ms at 60 fps. */
const MAX_KEPT_FRAMES = 12;

/**
 * Which frames of the picture go to one viewer. Pure.
 *
 * States: closed → keeping (a path exists, keys do not) → open. No frame passes before a keyframe, because a viewer
 * could not decode it. While keeping, a keyframe and its followers are kept, and passed when the gate opens.
 */
export class PictureGate<Frame> {
  /** Oldest first; null = nothing is kept. */
  #kept: Frame[] | null = null;
  #awaitsKeyframe = true;

  /** Whether a frame other than a keyframe is useless. */
  get awaitsKeyframe(): boolean {
    return this.#awaitsKeyframe;
  }

  get isKeeping(): boolean {
    return this.#kept !== null;
  }

  startKeeping(): void {
    this.#kept ??= [];
  }

  keep(frame: Frame, isStart: boolean): void {
    if (!this.#kept) return;
    // A newer keyframe replaces the older frames; a gap also needs a new keyframe.
    if (isStart || this.#kept.length >= MAX_KEPT_FRAMES) this.#kept = [];
    if (isStart || this.#kept.length > 0) this.#kept.push(frame);
  }

  /** Ends the keeping. @returns the kept frames, oldest first */
  release(): Frame[] {
    const kept = this.#kept ?? [];
    this.#kept = null;
    return kept;
  }

  /** A frame before the next keyframe was lost on purpose. */
  needKeyframe(): void {
    this.#awaitsKeyframe = true;
  }

  /** @returns whether the frame may be sent; a keyframe ends the wait */
  passes(isStart: boolean): boolean {
    if (isStart) this.#awaitsKeyframe = false;
    return !this.#awaitsKeyframe;
  }
}
