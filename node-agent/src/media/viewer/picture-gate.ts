/**
 * Largest number of frames that are stored while a connection has no keys. The key exchange takes two round trips; 12
 * frames are 200 ms at 60 fps.
 */
const MAX_KEPT_FRAMES = 12;

/**
 * Decides which frames of the picture are sent to one viewer. Pure.
 *
 * States: closed → keeping (a path exists, keys do not) → open. Frames before the first keyframe are not sent, because
 * a viewer could not decode them. In the state `keeping`, a keyframe and the frames after it are stored, and sent when
 * the gate opens.
 */
export class PictureGate<Frame> {
  /** Stored frames, oldest first; null: the gate is not in the state `keeping`. */
  #kept: Frame[] | null = null;
  #awaitsKeyframe = true;

  /** Whether the next frame must be a keyframe, because other frames cannot be decoded. */
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
    // A newer keyframe replaces the older frames. If frames would be missing, a new keyframe is needed too.
    if (isStart || this.#kept.length >= MAX_KEPT_FRAMES) this.#kept = [];
    if (isStart || this.#kept.length > 0) this.#kept.push(frame);
  }

  /** Ends the state `keeping`. @returns the stored frames, oldest first */
  release(): Frame[] {
    const kept = this.#kept ?? [];
    this.#kept = null;
    return kept;
  }

  /** Called when a frame was deliberately not sent, so that the next frame must be a keyframe. */
  needKeyframe(): void {
    this.#awaitsKeyframe = true;
  }

  /** @returns whether the frame may be sent; a keyframe ends the wait for a keyframe */
  passes(isStart: boolean): boolean {
    if (isStart) this.#awaitsKeyframe = false;
    return !this.#awaitsKeyframe;
  }
}
