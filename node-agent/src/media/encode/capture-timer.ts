import type { ManualClock } from '@footlight/gst';
import type { Timer } from '@footlight/platform';
import type { MediaClock } from '../session/media-clock.ts';
import { CaptureSchedule } from './capture-schedule.ts';

const NS_PER_S = 1_000_000_000n;
const NS_PER_MS = 1e6;
/** Number of captures whose times are stored, more than the encoder and its queue can contain. Chosen, not measured. */
const MAX_KEPT = 64;
/**
 * Tolerance in milliseconds, because the source rounds the time of a frame down. Two frames are more than a thousand
 * times further apart.
 */
const ROUNDED_MS = 0.001;
/**
 * Delay in milliseconds before the source is released a second time. It is needed if the clock is set after the source
 * has read the clock but before the source waits, because the source then misses the new time. Chosen, not measured.
 */
const AGAIN_MS = 1;

/**
 * Triggers the captures of one pipeline. Its source waits for the next frame time of a manual clock, which is advanced
 * by one frame for each capture. So for the encoder all frames have the same length, even if the captures are
 * irregular.
 *
 * new → (start) → running → (stop) → stopped. Owner: the pipeline, which owns the clock too.
 */
export class CaptureTimer {
  readonly #clock: Pick<ManualClock, 'releaseWaiting' | 'set' | 'timeNs'>;
  readonly #mediaClock: MediaClock;
  #fps: bigint;
  #schedule: CaptureSchedule;
  /** null: the timer is not running. */
  #timer: Timer | null = null;
  #again: Timer | null = null;
  #running = false;
  /**
   * Time at which an app drew after the last capture, and the callback for the next capture; null: nothing was drawn.
   */
  #drawn: { atMs: number; onCaptured: () => void } | null = null;
  /** Times to which the clock was set, and the monotonic times at which it was set; in milliseconds, oldest first. */
  readonly #captures: { clockMs: number; atMs: number }[] = [];

  /** @param fps whole frames per second */
  constructor(
    clock: Pick<ManualClock, 'releaseWaiting' | 'set' | 'timeNs'>,
    fps: number,
    mediaClock: MediaClock,
  ) {
    this.#clock = clock;
    this.#mediaClock = mediaClock;
    this.#fps = BigInt(fps);
    this.#schedule = new CaptureSchedule(fps, mediaClock.monotonicMs());
  }

  /** Starts the captures. Called when the source has captured its first frame, at the clock's time 0. */
  start(): void {
    this.#running = true;
    this.#captured(this.#mediaClock.monotonicMs());
  }

  setRate(fps: number): void {
    this.#fps = BigInt(fps);
    this.#schedule.setRate(fps);
    if (this.#running) this.#plan();
  }

  /**
   * Called when an app has drawn: captures the picture as soon as the frame rate allows.
   * @returns resolves when the picture was captured, or the captures have ended
   */
  drawn(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drawn = { atMs: this.#mediaClock.monotonicMs(), onCaptured: resolve };
      this.#plan();
    });
  }

  /** Captures now. */
  now(): void {
    if (!this.#running) return;
    const frame = (this.#clock.timeNs * this.#fps) / NS_PER_S + 1n;
    // Rounded up, because the source rounds down and would otherwise see the time of the previous frame.
    const timeNs = (frame * NS_PER_S + this.#fps - 1n) / this.#fps;
    const atMs = this.#mediaClock.monotonicMs();
    if (!this.#clock.set(timeNs)) {
      this.#again?.cancel();
      this.#again = this.#mediaClock.setTimeout(() => this.#clock.releaseWaiting(), AGAIN_MS);
    }
    this.#captured(atMs);
  }

  /**
   * Monotonic time in milliseconds at which the frame with this clock time was captured.
   * @param clockMs milliseconds
   */
  capturedAtMs(clockMs: number): number {
    const at = this.#captures.findLast((capture) => capture.clockMs <= clockMs + ROUNDED_MS);
    return (at ?? this.#captures[0])?.atMs ?? this.#mediaClock.monotonicMs();
  }

  stop(): void {
    this.#running = false;
    this.#timer?.cancel();
    this.#again?.cancel();
    this.#tell();
  }

  #captured(atMs: number): void {
    this.#captures.push({ clockMs: Number(this.#clock.timeNs) / NS_PER_MS, atMs });
    if (this.#captures.length > MAX_KEPT) this.#captures.shift();
    this.#schedule.captured(atMs, this.#drawn?.atMs ?? null);
    this.#tell();
    this.#plan();
  }

  #tell(): void {
    const drawn = this.#drawn;
    this.#drawn = null;
    drawn?.onCaptured();
  }

  #plan(): void {
    this.#timer?.cancel();
    const isDrawn = this.#drawn !== null;
    const waitMs = this.#schedule.nextMs(isDrawn) - this.#mediaClock.monotonicMs();
    if (waitMs <= 0 && isDrawn) this.now();
    else this.#timer = this.#mediaClock.setTimeout(() => this.now(), Math.max(0, waitMs));
  }
}
