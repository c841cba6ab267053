import { percentile } from '@footlight/platform';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import { type BurstWindow, MAX_FRAMES } from '../worker/capture-messages.ts';

/** Measurements of a session for each frame, in short consecutive windows. Pure. */
export class BurstStats {
  readonly #startedAtMs: number;
  readonly #windows: BurstWindow[] = [];
  #windowAtMs: number;
  /** Time at which the previous frame left the encoder; null: no frame has left it since the start. */
  #lastOutMs: number | null = null;
  #frames = 0;
  #bytes = 0;
  #encodeMs: number[] = [];
  #dwellMs: number[] = [];
  #dropped = 0;
  #queueLevelMax = 0;

  constructor(nowMs: number) {
    this.#startedAtMs = nowMs;
    this.#windowAtMs = nowMs;
  }

  /** Called when a frame was captured. */
  captured(queueLevel: number): void {
    this.#queueLevelMax = Math.max(this.#queueLevelMax, queueLevel);
  }

  /**
   * Called when a frame left the encoder. Its time in the queue ended when the previous frame left the encoder.
   * @param encodeMs time since the frame's arrival at the queue; null: the arrival was not seen
   */
  encoded(nowMs: number, bytes: number, encodeMs: number | null): void {
    this.#frames++;
    this.#bytes += bytes;
    if (encodeMs !== null) {
      if (this.#lastOutMs !== null)
        this.#dwellMs.push(Math.min(encodeMs, Math.max(0, this.#lastOutMs - (nowMs - encodeMs))));
      this.#encodeMs.push(encodeMs);
    }
    this.#lastOutMs = nowMs;
  }

  /** Called with the number of frames that the queue or the encoder dropped. */
  dropped(count: number): void {
    this.#dropped += count;
  }

  /** Ends a window and starts the next one. @param rate current values of rate control */
  endWindow(nowMs: number, rate: Pick<AgentMetrics, 'abr_setpoint_kbps' | 'gcc_estimate_kbps'>): void {
    const windowMs = Math.max(1, nowMs - this.#windowAtMs);
    const { abr_setpoint_kbps, gcc_estimate_kbps } = rate;
    this.#windows.push({
      t_ms: rounded(this.#windowAtMs - this.#startedAtMs),
      encode_ms: { ...spreadOf(this.#encodeMs), samples: this.#encodeMs.slice(0, MAX_FRAMES).map(rounded) },
      dwell_ms: spreadOf(this.#dwellMs),
      fps: rounded((this.#frames * 1000) / windowMs),
      bitrate_kbps: rounded((this.#bytes * 8) / windowMs),
      frames_dropped: this.#dropped,
      queue_level_max: this.#queueLevelMax,
      ...(typeof abr_setpoint_kbps === 'number' && { abr_setpoint_kbps }),
      ...(typeof gcc_estimate_kbps === 'number' && { gcc_estimate_kbps }),
    });
    this.#windowAtMs = nowMs;
    this.#frames = 0;
    this.#bytes = 0;
    this.#encodeMs = [];
    this.#dwellMs = [];
    this.#dropped = 0;
    this.#queueLevelMax = 0;
  }

  get windows(): readonly BurstWindow[] {
    return this.#windows;
  }
}

function spreadOf(values: readonly number[]) {
  const sorted = [...values].sort((a, b) => a - b);
  const of = (value: number | null | undefined) =>
    value === null || value === undefined ? null : rounded(value);
  return {
    n: sorted.length,
    p50: of(percentile(sorted, 0.5)),
    p95: of(percentile(sorted, 0.95)),
    max: of(sorted.at(-1)),
  };
}

const rounded = (value: number) => Math.round(value * 1000) / 1000;
