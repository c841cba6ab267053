/**
 * Drawn pictures may be captured this much more often than the frame rate. Many apps draw every 16 ms, which is 62.5
 * times a second. At exactly 60, each picture would wait longer than the one before, until one is left out.
 */
const SPARE_RATE = 1.05;
/** Unused captures that drawn pictures may use later (frames), so that one can follow another at once. */
const MAX_SPARE = 2;
/** Least time between two captures, in frames, which limits the load of the encoder. */
const LEAST_GAP = 0.5;
/**
 * While an app draws, the display is also captured after this time without a new picture, in frames. With 1.0 the
 * capture would come just before the next picture of an app that draws at the stream's rate. Apps that draw at a half,
 * a third or two thirds of the rate, or at 24 or 25 of 60 pictures a second, draw at least 0.1 frames after such a
 * capture, so their pictures wait for at most 2 ms.
 */
const DRAWING_GAP = 1.6;
/**
 * An app counts as drawing for this time after its last picture, milliseconds: at least 10 pictures a second. Chosen.
 */
const DRAWING_MS = 100;

/**
 * Decides when to capture the display: a drawn picture at once, as long as the average stays within the frame rate, and
 * an unchanged display at the frame rate. Captures at fixed times would show a key press half a frame later on average.
 * Pure: times in, times out; milliseconds of any monotonic clock.
 */
export class CaptureSchedule {
  #frameMs: number;
  #lastMs: number;
  /**
   * Due time of the last capture. Later captures are counted from it, so a late timer or a delayed picture does not
   * shift them.
   */
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

  /** The display was captured. @param drawnMs when the captured picture was drawn; null: nothing was drawn */
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
