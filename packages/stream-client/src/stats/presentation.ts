import type { ClientMetrics } from '@footlight/protocol/telemetry';
import { deviation, median, percentile } from './numbers.ts';

export interface PresentedFrame {
  /** media time in seconds; a frame that is shown twice has the same media time */
  mediaTime: number;
  /** monotonic ms at which it is expected on the screen */
  displayMs: number;
  /** ms from capture to display; null: the browser does not report the capture time */
  captureToDisplayMs: number | null;
}

/** Fewest intervals for which a deviation is computed; with fewer it would be random. */
const MIN_INTERVALS = 5;
/** Number of recorded frames: two seconds at 240 fps; a report is made each second. */
const MAX_FRAMES = 512;

/**
 * Measures how regularly frames are shown, from video frame callbacks (ms). Pure except for its own state, a window
 * that take() ends. Call reset() for a new connection.
 */
export class Presentation {
  #last: PresentedFrame | null = null;
  /** the newest frame has a capture time */
  #hasCaptureTime = false;
  #intervals: number[] = [];
  #captureToDisplay: number[] = [];

  /** @returns the interval to the previous frame in ms; null: the first frame, or the same frame again */
  add(frame: PresentedFrame): number | null {
    const last = this.#last;
    if (last !== null && frame.mediaTime === last.mediaTime) return null;
    this.#last = frame;
    this.#hasCaptureTime = frame.captureToDisplayMs !== null;
    if (frame.captureToDisplayMs !== null && this.#captureToDisplay.length < MAX_FRAMES) {
      this.#captureToDisplay.push(frame.captureToDisplayMs);
    }
    if (last === null) return null;
    const interval = frame.displayMs - last.displayMs;
    if (interval > 0 && this.#intervals.length < MAX_FRAMES) this.#intervals.push(interval);
    return interval;
  }

  /** Ignores the gap while a page is hidden, because a hidden page shows no frames. */
  forget(): void {
    this.#last = null;
  }

  /** Starts again for another connection. */
  reset(): void {
    this.forget();
    this.#hasCaptureTime = false;
    this.take();
  }

  /** Results of the current window; starts a new window. */
  take(): ClientMetrics {
    const intervals = this.#intervals;
    const captured = median(this.#captureToDisplay);
    this.#intervals = [];
    this.#captureToDisplay = [];
    const metrics: ClientMetrics = {
      present_n: intervals.length,
      rvfc_capture_time_available: this.#hasCaptureTime,
    };
    if (captured !== null) {
      metrics.rvfc_capture_to_display_ms = captured;
      metrics.glass_to_glass_ms = captured;
    }
    const middle = median(intervals);
    if (intervals.length < MIN_INTERVALS || middle === null || middle <= 0) return metrics;
    const mean = intervals.reduce((sum, value) => sum + value, 0) / intervals.length;
    return {
      ...metrics,
      present_fps: 1000 / mean,
      present_fps_median: 1000 / middle,
      present_interval_median_ms: middle,
      present_interval_sd_ms: deviation(intervals) ?? 0,
      present_interval_p95_ms: percentile(intervals, 0.95) ?? 0,
      present_interval_max_ms: Math.max(...intervals),
      present_beat_fraction:
        intervals.filter((value) => Math.abs(value - 2 * middle) <= 0.4 * middle).length / intervals.length,
      present_long_frames: intervals.filter((value) => value > 2.5 * middle).length,
    };
  }
}

/** Number of recent intervals that a freeze is compared with. */
const FREEZE_WINDOW = 30;

/**
 * Finds freezes in the intervals of shown frames (ms). Pure except for its own state; call reset() for a new
 * connection.
 */
export class FreezeDetector {
  #recent: number[] = [];

  /**
   * @param intervalMs interval between two frames
   * @returns whether the interval is a visible freeze: at least three times the average, and at least 150 ms above the
   *   average
   * Source: W3C, Identifiers for WebRTC's Statistics API, freezeCount.
   */
  add(intervalMs: number): boolean {
    const usual = this.#recent.reduce((sum, value) => sum + value, 0) / (this.#recent.length || 1);
    const frozen = this.#recent.length >= MIN_INTERVALS && intervalMs >= Math.max(3 * usual, usual + 150);
    if (frozen) return true;
    this.#recent.push(intervalMs);
    if (this.#recent.length > FREEZE_WINDOW) this.#recent.shift();
    return false;
  }

  reset(): void {
    this.#recent = [];
  }
}
