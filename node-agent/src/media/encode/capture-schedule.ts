/**
 * Factor by which drawn pictures may be captured more often than the frame rate. Many apps draw every 16 ms, which is
 * 62.5 times a second. With exactly 60 captures a second, each picture would wait longer than the previous one, until
 * one picture is skipped.
 */
const SPARE_RATE = 1.05;
/**
 * Largest number of unused captures that drawn pictures may use later, so that one picture can be captured at once
 * after another.
 */
const MAX_SPARE = 2;
/** Shortest time between two captures, in frames. It limits the load of the encoder. */
const LEAST_GAP = 0.5;
/**
 * Time in frames. If an app counts as drawing but its next picture does not come within this time, the unchanged
 * display is captured. With 1.0, the capture would be made just before the next picture of an app that draws at the
 * stream's rate. Apps that draw at a half, a third or two thirds of the rate, or at 24 or 25 of 60 pictures a second,
 * draw their next picture at least 0.1 frames after this capture, so the picture waits for at most 2 ms.
 */
const DRAWING_GAP = 1.6;
/**
 * An app counts as drawing for this time after its last picture, in milliseconds. So it must draw at least 10 pictures
 * a second. Chosen, not measured.
 */
const DRAWING_MS = 100;

/**
 * Decides when to capture the display. A drawn picture is captured at once while the average rate stays within the
 * frame rate; an unchanged display is captured at the frame rate. With captures at fixed times, a key press would be
 * visible half a frame later on average. Pure. Times are milliseconds of any monotonic clock.
 */
export class CaptureSchedule {
  #frameMs: number;
  #lastMs: number;
  /**
   * Time at which the last capture was due. Later captures are computed from this time, so a late timer or a delayed
   * picture does not shift them.
   */
  #countedMs: number;
  #lastDrawnMs = Number.NEGATIVE_INFINITY;
  #spare = 1;

  /** @param fps frames per second @param nowMs time of the first capture */
  constructor(fps: number, nowMs: number) {
    this.#frameMs = 1000 / fps;
    this.#lastMs = nowMs;
    this.#countedMs = nowMs;
  }

  /** Sets the frame rate of later captures, in frames per second. */
  setRate(fps: number): void {
    this.#frameMs = 1000 / fps;
  }

  /**
   * Records that the display was captured.
   * @param drawnMs time at which the captured picture was drawn; null: nothing was drawn
   */
  captured(nowMs: number, drawnMs: number | null): void {
    const elapsed = (nowMs - this.#lastMs) / this.#frameMs;
    this.#spare = Math.max(0, Math.min(MAX_SPARE, this.#spare + elapsed * SPARE_RATE) - 1);
    const dueMs = drawnMs ?? this.nextMs(false);
    this.#countedMs = nowMs - dueMs < this.#frameMs / 2 ? dueMs : nowMs;
    this.#lastMs = nowMs;
    this.#lastDrawnMs = drawnMs ?? this.#lastDrawnMs;
  }

  /** Time of the next capture. @param isDrawn whether an app has drawn since the last capture */
  nextMs(isDrawn: boolean): number {
    if (isDrawn) return this.#lastMs + this.#frameMs * Math.max(LEAST_GAP, (1 - this.#spare) / SPARE_RATE);
    const isDrawing = this.#lastMs - this.#lastDrawnMs < DRAWING_MS;
    return this.#countedMs + this.#frameMs * (isDrawing ? DRAWING_GAP : 1);
  }
}
