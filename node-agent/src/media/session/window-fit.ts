import type { ScreenSize } from '../../display/x11/x-screen.ts';
import type { ShownWindow } from '../../display/x11/x-windows.ts';

/** A window must keep its size this long before the display takes it. */
export const FIT_AFTER_MS = 1_000;
/** Times that the display may take a window's size within FIT_PERIOD_MS (count); after that it keeps the stream's. */
export const MAX_FITS = 6;
export const FIT_PERIOD_MS = 60_000;
/** A smaller side is no picture that somebody uses, and less than some encoders take. */
const MIN_SIDE = 160;
/** Terminals leave a part of a row and column free; a display that lacks no more than this is filled. */
const NEARLY_WHOLE = 0.95;

export interface FitStep {
  /** The size that the display should have; null: its own. */
  fit: ScreenSize | null;
  /** When to decide again although no window has changed; null: not before one does. */
  againAtMs: number | null;
}

/**
 * Which window the display takes the size of: the only one that is shown, if it is an app's main window and does not
 * fill the display although the window manager asked it to. Without this it would lie in a corner of a black picture.
 *
 * Taking a size waits until the window has rested, and is limited in number; giving it up is immediate, so an app that
 * changes its windows all the time leaves the display as it is. Pure: told of windows and times, it decides.
 * Source: docs/session-changes.md, "A window of a fixed size".
 */
export class WindowFit {
  #fit: ScreenSize | null = null;
  /** What might be taken, and since when it has been the same. */
  #candidate: { size: ScreenSize; sinceMs: number } | null = null;
  /** When the display took a size, newest last. */
  #taken: number[] = [];

  /**
   * @param base size of the display while no window has changed it
   * @param nowMs monotonic
   */
  decide(windows: readonly ShownWindow[], base: ScreenSize, nowMs: number): FitStep {
    const size = wantedSize(windows, base);
    if (size === null) {
      this.#fit = null;
      this.#candidate = null;
      return { fit: null, againAtMs: null };
    }
    if (this.#fit && isSame(this.#fit, size)) return { fit: this.#fit, againAtMs: null };
    this.#fit = null;
    if (!this.#candidate || !isSame(this.#candidate.size, size)) this.#candidate = { size, sinceMs: nowMs };
    this.#taken = this.#taken.filter((atMs) => nowMs - atMs < FIT_PERIOD_MS);
    const [oldest] = this.#taken;
    const mayAtMs = oldest === undefined || this.#taken.length < MAX_FITS ? nowMs : oldest + FIT_PERIOD_MS;
    const atMs = Math.max(this.#candidate.sinceMs + FIT_AFTER_MS, mayAtMs);
    if (nowMs < atMs) return { fit: null, againAtMs: atMs };
    this.#taken.push(nowMs);
    this.#candidate = null;
    this.#fit = size;
    return { fit: size, againAtMs: null };
  }
}

/** A window that fills a display of its size shows by its hints alone whether it still wants no other. */
function wantedSize(windows: readonly ShownWindow[], base: ScreenSize): ScreenSize | null {
  const [window] = windows;
  if (!window || windows.length > 1 || !window.isMain) return null;
  const { width, height } = even(window.fixed ?? window);
  if (width > base.width || height > base.height) return null;
  if (width > base.width * NEARLY_WHOLE && height > base.height * NEARLY_WHOLE) return null;
  return width < MIN_SIDE || height < MIN_SIDE ? null : { width, height };
}

/** Encoders take even sides; the row or column more is black. */
function even({ width, height }: ScreenSize): ScreenSize {
  return { width: width + (width % 2), height: height + (height % 2) };
}

function isSame(a: ScreenSize, b: ScreenSize): boolean {
  return a.width === b.width && a.height === b.height;
}
