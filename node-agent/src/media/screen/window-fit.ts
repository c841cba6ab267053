import type { ScreenSize } from '../../display/x11/x-screen.ts';
import type { ShownWindow } from '../../display/x11/x-windows.ts';

/** Time that a window must keep its size before the display takes it. */
export const FIT_AFTER_MS = 1_000;
/** How many times the display may take a window's size within FIT_PERIOD_MS. */
export const MAX_FITS = 6;
/**
 * A change of the display costs a keyframe and a jump of the picture; six a minute are bearable. Chosen, not
 * measured.
 */
export const FIT_PERIOD_MS = 60_000;
/** Least side of a window; smaller ones are not used as a picture, and some encoders refuse them. */
const MIN_SIDE = 160;
/** Share of the display above which a window fills it; terminals leave a part of a row and column free. */
const NEARLY_WHOLE = 0.95;

export interface FitStep {
  /** Target size of the display; null: its own. */
  fit: ScreenSize | null;
  /** Time of the next decision without a window change; null: none. */
  againAtMs: number | null;
}

/**
 * Decides which window's size the display takes: the only shown one, if it is an app's main window and does not fill
 * the display although the window manager asked it to. Otherwise the window would be in a corner of a black picture.
 *
 * A size is taken after the window has rested, and a limited number of times; it is given up at once, so an app that
 * keeps changing its windows does not change the display. Pure.
 * Source: docs/sessions.md, "A window of a fixed size".
 */
export class WindowFit {
  #fit: ScreenSize | null = null;
  /** A candidate size, and since when it is unchanged. */
  #candidate: { size: ScreenSize; sinceMs: number } | null = null;
  /** Times at which the display took a size, newest last. */
  #taken: number[] = [];

  /**
   * @param base size of the display without a window's size
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

/** A window that fills a display of its own size shows only by its hints whether it still has a fixed size. */
function wantedSize(windows: readonly ShownWindow[], base: ScreenSize): ScreenSize | null {
  const [window] = windows;
  if (!window || windows.length > 1 || !window.isMain) return null;
  const { width, height } = even(window.fixed ?? window);
  if (width > base.width || height > base.height) return null;
  if (width > base.width * NEARLY_WHOLE && height > base.height * NEARLY_WHOLE) return null;
  return width < MIN_SIDE || height < MIN_SIDE ? null : { width, height };
}

/** Encoders need even sides; the extra row or column is black. */
function even({ width, height }: ScreenSize): ScreenSize {
  return { width: width + (width % 2), height: height + (height % 2) };
}

function isSame(a: ScreenSize, b: ScreenSize): boolean {
  return a.width === b.width && a.height === b.height;
}
