import type { Timer } from '@footlight/platform/timer';
import type { Finger, FingerReader, PointerOutput, PointerShape } from '@footlight/stream-client';
import { clock } from '../../clock.ts';
import { DirectTouch, type Gesture, type Gestures, type Point, TouchPad } from './gestures.ts';
import { pinched, settled, showing, WHOLE, within, type Zoom, type ZoomArea } from './picture-zoom.ts';
import type { TouchMode } from './touch-choice.ts';

/**
 * Largest gain of the touch pad. The pointer moves as far as a slow finger, and up to this factor farther for a fast
 * one. Chosen, not measured.
 */
const MAX_GAIN = 3;
/** Speed at which the gain is twice that of a slow finger, CSS pixels per millisecond. Chosen, not measured. */
const QUICK_PX_PER_MS = 0.8;
/** Factor of scrolling, because a picture contains more than a phone's page. Chosen, not measured. */
const SCROLL_GAIN = 2;

interface FingerInputDeps {
  out: PointerOutput;
  area: HTMLElement;
  picture: HTMLElement;
  /** the element that draws the touch pad's pointer; null: not shown now */
  pointer(): HTMLElement | null;
  mode: TouchMode;
  relative: boolean;
  onScale(scale: number): void;
}

/** Factor by which the pointer moves farther than its finger. */
export function pointerGain(dx: number, dy: number, ms: number): number {
  const speed = Math.hypot(dx, dy) / Math.max(1, ms);
  return Math.min(MAX_GAIN, 1 + speed / QUICK_PX_PER_MS);
}

/**
 * Translates fingers on the picture into input. Stores the picture's zoom and the position of the touch pad's pointer.
 *
 * Owner: useFingers, one for each touch mode. dispose() shows the whole picture and cancels the wait for a long press.
 */
export class FingerInput implements FingerReader {
  readonly #deps: FingerInputDeps;
  readonly #gestures: Gestures;
  #timer: Timer | null = null;
  #zoom: Zoom = WHOLE;
  /** position as fractions of the picture's width and height */
  #place: Point = { x: 0.5, y: 0.5 };
  #shape: PointerShape = 'default';

  constructor(deps: FingerInputDeps) {
    this.#deps = deps;
    this.#gestures = deps.mode === 'pad' ? new TouchPad() : new DirectTouch();
  }

  finger(finger: Finger): void {
    this.#perform(this.#gestures.take(finger));
    if (finger.action === 'up' || finger.action === 'cancel') this.#setZoom(settled(this.#zoom));
    this.#schedule();
  }

  forget(): void {
    this.#gestures.forget();
    this.#schedule();
  }

  /** The area has changed its size. */
  refit(): void {
    this.#setZoom(within(this.#zoom, this.#area()));
  }

  /** Shows the whole picture. */
  reset(): void {
    this.#setZoom(WHOLE);
  }

  /** Draws the touch pad's pointer with a shape. */
  draw(shape: PointerShape): void {
    this.#shape = shape;
    this.#drawPointer();
  }

  dispose(): void {
    this.#timer?.cancel();
    this.reset();
  }

  #schedule(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const { dueMs } = this.#gestures;
    if (dueMs === null) return;
    this.#timer = clock.setTimeout(
      () => {
        this.#perform(this.#gestures.wait(dueMs));
        this.#schedule();
      },
      Math.max(0, dueMs - clock.monotonicMs()),
    );
  }

  #perform(gestures: readonly Gesture[]): void {
    const { out } = this.#deps;
    for (const gesture of gestures) {
      if (gesture.do === 'move') this.#movePointer(gesture);
      else if (gesture.do === 'scroll') this.#scroll(gesture);
      else if (gesture.do === 'pinch')
        this.#setZoom(pinched(this.#zoom, gesture.from, gesture.to, this.#area()));
      else if (gesture.do === 'touch') out.touch(gesture);
      else {
        const at = gesture.at ?? this.#pointerPlace();
        if (gesture.do !== 'release') out.button(gesture.button, true, at);
        if (gesture.do !== 'press') out.button(gesture.button, false, at);
      }
    }
  }

  /** Moves an enlarged picture, or scrolls the app at the fingers. */
  #scroll({ dx, dy, at }: Extract<Gesture, { do: 'scroll' }>): void {
    const { out } = this.#deps;
    if (at !== null && this.#zoom.scale > 1) {
      const { scale, x, y } = this.#zoom;
      this.#setZoom(within({ scale, x: x + dx, y: y + dy }, this.#area()));
      return;
    }
    if (at !== null) out.moveTo(at.x, at.y);
    out.scroll(-dx * SCROLL_GAIN, -dy * SCROLL_GAIN);
  }

  #movePointer({ dx, dy, ms }: Extract<Gesture, { do: 'move' }>): void {
    const { out, relative } = this.#deps;
    const gain = pointerGain(dx, dy, ms);
    if (relative) {
      out.moveBy(dx * gain, dy * gain);
      return;
    }
    const box = out.box();
    if (box.width <= 0 || box.height <= 0) return;
    // On an enlarged picture the pointer moves less, so that it stays precise.
    this.#place = {
      x: Math.min(1, Math.max(0, this.#place.x + (dx * gain) / box.width)),
      y: Math.min(1, Math.max(0, this.#place.y + (dy * gain) / box.height)),
    };
    const at = this.#pointerPlace();
    if (at === null) return;
    if (this.#zoom.scale > 1) this.#setZoom(showing(this.#zoom, at, this.#area()));
    const shown = this.#pointerPlace() ?? at;
    out.moveTo(shown.x, shown.y);
    this.#drawPointer();
  }

  /** The pointer's position on the page; null: only the app knows the position. */
  #pointerPlace(): Point | null {
    const { out, relative } = this.#deps;
    if (relative) return null;
    const box = out.box();
    return { x: box.left + this.#place.x * box.width, y: box.top + this.#place.y * box.height };
  }

  #area(): ZoomArea {
    const { area, picture, out } = this.#deps;
    const { left, top } = area.getBoundingClientRect();
    // The picture's rectangle without the zoom.
    const { offsetLeft, offsetTop, offsetWidth: width, offsetHeight: height } = picture;
    const box = out.box();
    const { scale } = this.#zoom;
    return {
      middle: { x: left + offsetLeft + width / 2, y: top + offsetTop + height / 2 },
      area: { width, height },
      picture: { width: box.width / scale, height: box.height / scale },
    };
  }

  #setZoom(zoom: Zoom): void {
    this.#zoom = zoom;
    const { style } = this.#deps.picture;
    // Uses `translate` and `transform`, because `scale` already hides the bars of a display with another shape.
    style.translate = zoom.scale === 1 ? '' : `${zoom.x}px ${zoom.y}px`;
    style.transform = zoom.scale === 1 ? '' : `scale(${zoom.scale})`;
    this.#deps.onScale(zoom.scale);
    this.#drawPointer();
  }

  #drawPointer(): void {
    const element = this.#deps.pointer();
    const at = this.#pointerPlace();
    if (element === null || at === null) return;
    const shape = this.#shape;
    const { left, top } = this.#deps.area.getBoundingClientRect();
    const own = typeof shape === 'string' ? null : shape;
    const { style } = element;
    element.hidden = shape === 'none';
    element.toggleAttribute('data-own', own !== null);
    style.width = own === null ? '' : `${own.width}px`;
    style.height = own === null ? '' : `${own.height}px`;
    style.backgroundImage = own === null ? '' : `url("${own.url}")`;
    style.translate = `${at.x - left - (own?.hot_x ?? 2)}px ${at.y - top - (own?.hot_y ?? 2)}px`;
  }
}
