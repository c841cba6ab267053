import type { ScreenSize } from '../../display/x11/x-screen.ts';
import type { ShownWindow } from '../../display/x11/x-windows.ts';

/** Time for which a window must keep its size before the display adopts it. */
export const FIT_AFTER_MS = 1_000;
/** Largest number of times that the display may adopt a window's size within FIT_PERIOD_MS. */
export const MAX_FITS = 6;
/**
 * Each change of the display needs a keyframe and makes the picture jump; six changes a minute are bearable. Chosen,
 * not measured.
 */
export const FIT_PERIOD_MS = 60_000;
/** Smallest side of a window whose size is adopted. Some encoders refuse smaller pictures. */
const MIN_SIDE = 160;
/** Share of the display above which a window fills the display. Terminals leave a part of a row and column free. */
const NEARLY_WHOLE = 0.95;

export interface FitStep {
  /** Target size of the display; null: its own size. */
  fit: ScreenSize | null;
  /** Time of the next decision if no window changes; null: no decision is due. */
  againAtMs: number | null;
}

/**
 * Decides whether the display adopts a window's size. The display adopts the size if only one window is shown, this
 * window is an app's main window, and the window does not fill the display although the window manager asked it to.
 * Otherwise the window would be in a corner of a black picture.
 *
 * A size is adopted after the window has kept it for some time, and only a limited number of times. The display returns
 * to its own size at once. So an app that keeps changing its windows does not keep changing the display. Pure. Source:
 * docs/sessions.md, "A window of a fixed size".
 */
export class WindowFit {
  #fit: ScreenSize | null = null;
  /** A size that may be adopted, and the time since which it is unchanged. */
  #candidate: { size: ScreenSize; sinceMs: number } | null = null;
  /** Times at which the display adopted a size, newest last. */
  #taken: number[] = [];

  /**
   * @param base the display's own size
   * @param nowMs monotonic time
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

/**
 * If the display has adopted a window's size, the window fills it. Then only the window's hints show whether its size
 * is still fixed.
 */
function wantedSize(windows: readonly ShownWindow[], base: ScreenSize): ScreenSize | null {
  const [window] = windows;
  if (!window || windows.length > 1 || !window.isMain) return null;
  const { width, height } = even(window.fixed ?? window);
  if (width > base.width || height > base.height) return null;
  if (width > base.width * NEARLY_WHOLE && height > base.height * NEARLY_WHOLE) return null;
  return width < MIN_SIDE || height < MIN_SIDE ? null : { width, height };
}

/** Rounds the sides up to even numbers, which encoders need; the additional row or column is black. */
function even({ width, height }: ScreenSize): ScreenSize {
  return { width: width + (width % 2), height: height + (height % 2) };
}

function isSame(a: ScreenSize, b: ScreenSize): boolean {
  return a.width === b.width && a.height === b.height;
}
