import type { Timer } from '@footlight/platform/timer';
import type { Environment } from '../types.ts';
import { median } from './numbers.ts';

/** Frames of one measurement, 0.4 s at 60 Hz. The median of their intervals ignores late frames. */
const BURST_FRAMES = 24;
/**
 * Time between measurements. Measurements are repeated, because a window may move to another screen. A permanent loop
 * of animation frames would keep the page awake.
 */
const EVERY_MS = 10_000;

/**
 * Measures the refresh rate of this display (Hz) by short bursts of animation frames, because a permanent loop would
 * cost power.
 *
 * resting ⇄ (each EVERY_MS) burst of BURST_FRAMES. Owns one timer and one requested frame; dispose() cancels both.
 */
export class RefreshRate {
  /** null: the first burst has not ended */
  hz: number | null = null;
  #timer: Timer;
  #frame: number | null = null;

  constructor(environment: Pick<Environment, 'setInterval'>) {
    this.#timer = environment.setInterval(() => this.#burst(), EVERY_MS);
    this.#burst();
  }

  dispose(): void {
    this.#timer.cancel();
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    this.#frame = null;
  }

  #burst(): void {
    if (this.#frame !== null || typeof requestAnimationFrame !== 'function') return;
    const times: number[] = [];
    // Uses the frame's time instead of the time of the call, because callbacks run late on a busy page.
    const step = (frameMs: number) => {
      times.push(frameMs);
      if (times.length <= BURST_FRAMES) {
        this.#frame = requestAnimationFrame(step);
        return;
      }
      this.#frame = null;
      const middle = median(times.slice(1).map((time, index) => time - (times[index] ?? time)));
      if (middle !== null && middle > 0) this.hz = 1000 / middle;
    };
    this.#frame = requestAnimationFrame(step);
  }
}
