/**
 * Drawn pictures may be captured this much more often than the frame rate. Many apps draw every 16 ms, which is 62.5
 * times a second. At exactly 60, each picture would wait longer than the one before, until one is left out.
 */
const SPARE_RATE = 1.05;
/** Captures that may be saved up for drawn pictures (frames): one follows another at once. */
const MAX_SPARE = 2;
/** Least time between two captures, in frames: an encoder gets no more at once. */
const LEAST_GAP = 0.5;
/**
 * Time without a picture after which the display of a drawing app is captured all the same, in frames. One frame would
 * be just before the picture of an app at the stream's own pace; pictures at a half, a third, two thirds or 24 and 25
 * of 60 a second come 0.1 frames after such a capture or later, so they wait for it at most 2 ms.
 */
const DRAWING_GAP = 1.6;
/** An app draws that has drawn within this time, milliseconds: 10 pictures a second. Chosen. */
const DRAWING_MS = 100;

/**
 * When to capture the display: a drawn picture at once as long as the frame rate holds on average, and a display at
 * rest at the frame rate. A capture at fixed times shows a key press half a frame later on average. Pure: times in,
 * times out; milliseconds of any monotonic clock.
 */
export class CaptureSchedule {
  #frameMs: number;
  #lastMs: number;
  /** When the last one should have been: neither late timers nor pictures that had to wait move those after them. */
  #countedMs: number;
  #lastDrawnMs = Number.NEGATIVE_INFINITY;
  #spare = 1;

  /** @param fps frames per second @param nowMs of the first capture */
  constructor(fps: number, nowMs: number) {
    this.#frameMs = 1000 / fps;
    this.#lastMs = nowMs;
    this.#countedMs = nowMs;
  }

  /** Frames per second from now on. */
  setRate(fps: number): void {
    this.#frameMs = 1000 / fps;
  }

  /** The display was captured. @param drawnMs because something had been drawn then; null: nothing had */
  captured(nowMs: number, drawnMs: number | null): void {
    const elapsed = (nowMs - this.#lastMs) / this.#frameMs;
    this.#spare = Math.max(0, Math.min(MAX_SPARE, this.#spare + elapsed * SPARE_RATE) - 1);
    const dueMs = drawnMs ?? this.nextMs(false);
    this.#countedMs = nowMs - dueMs < this.#frameMs / 2 ? dueMs : nowMs;
    this.#lastMs = nowMs;
    this.#lastDrawnMs = drawnMs ?? this.#lastDrawnMs;
  }

  /** Time of the next capture. @param isDrawn something was drawn since the last one */
  nextMs(isDrawn: boolean): number {
    if (isDrawn) return this.#lastMs + this.#frameMs * Math.max(LEAST_GAP, (1 - this.#spare) / SPARE_RATE);
    const isDrawing = this.#lastMs - this.#lastDrawnMs < DRAWING_MS;
    return this.#countedMs + this.#frameMs * (isDrawing ? DRAWING_GAP : 1);
  }
}
