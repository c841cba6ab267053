import { percentile } from '@footlight/platform';
import type { AgentMetrics } from '@footlight/protocol/telemetry';

export interface MetricsWindow {
  window_ms: number;
  metrics: AgentMetrics;
}

/** Largest number of values per frame in a window: 10 s at 240 fps. */
const MAX_VALUES = 2400;

/**
 * Measurements of one session over consecutive windows of about 5 s. Pure. takeWindow() returns the metrics with the
 * keys of the protocol and starts the next window. Values that were not measured are missing.
 */
export class MetricsCollector {
  #startedAtMs: number;
  #captured = 0;
  #lastCaptureMs: number | null = null;
  #ptsDeltasMs: number[] = [];
  #queueLevelMax = 0;
  #queueDrops = 0;
  #encoded = 0;
  #encodedBytes = 0;
  #encodeMs: number[] = [];
  #dropped = 0;
  #rtpFrames = 0;
  #rtpBytes = 0;
  #sending = false;

  constructor(nowMs: number) {
    this.#startedAtMs = nowMs;
  }

  /** Called when a frame was captured. @param atMs capture time, as reported to viewers */
  captured(atMs: number, queueLevel: number): void {
    this.#captured++;
    if (this.#lastCaptureMs !== null) keep(this.#ptsDeltasMs, atMs - this.#lastCaptureMs);
    this.#lastCaptureMs = atMs;
    this.#queueLevelMax = Math.max(this.#queueLevelMax, queueLevel);
  }

  /** Called when the queue between capture and encoder dropped frames. */
  queueDropped(count: number): void {
    this.#queueDrops += count;
  }

  /** Called when a frame was encoded. @param encodeMs null: the frame's input was not seen */
  encoded(bytes: number, encodeMs: number | null): void {
    this.#encoded++;
    this.#encodedBytes += bytes;
    if (encodeMs !== null) keep(this.#encodeMs, encodeMs);
  }

  /** Called with the number of frames that did not leave the encoder within half a second. */
  dropped(count: number): void {
    this.#dropped += count;
  }

  /** Called with the number of frames sent on all peer connections, and their bytes before encryption. */
  sent(frames: number, bytes: number): void {
    this.#sending = true;
    this.#rtpFrames += frames;
    this.#rtpBytes += bytes;
  }

  takeWindow(nowMs: number): MetricsWindow {
    const windowMs = Math.max(1, nowMs - this.#startedAtMs);
    const perSecond = (count: number) => round((count * 1000) / windowMs);
    const kbps = (bytes: number) => round((bytes * 8) / windowMs);
    const metrics: MetricsWindow['metrics'] = {
      compositor_fps: perSecond(this.#captured),
      interpipe_queue_level_max: this.#queueLevelMax,
      interpipe_queue_drops: this.#queueDrops,
      fps: perSecond(this.#encoded),
      frames_encoded: this.#encoded,
      frames_dropped: this.#dropped,
      bitrate_kbps: kbps(this.#encodedBytes),
    };
    if (this.#sending) {
      metrics.rtp_fps = perSecond(this.#rtpFrames);
      metrics.rtp_bitrate_kbps = kbps(this.#rtpBytes);
    }
    this.#addPercentiles(metrics);
    this.#restart(nowMs);
    return { window_ms: Math.round(windowMs), metrics };
  }

  #addPercentiles(metrics: MetricsWindow['metrics']): void {
    const encode = this.#encodeMs.sort((a, b) => a - b);
    const p50 = percentile(encode, 0.5);
    const p95 = percentile(encode, 0.95);
    if (p50 !== null && p95 !== null) {
      metrics.encode_ms = round(encode.reduce((sum, value) => sum + value, 0) / encode.length);
      metrics.encode_ms_p50 = round(p50);
      metrics.encode_ms_p95 = round(p95);
      metrics.encode_ms_max = round(encode.at(-1) ?? 0);
    }
    const deltas = this.#ptsDeltasMs.sort((a, b) => a - b);
    const deltaP50 = percentile(deltas, 0.5);
    const deltaP95 = percentile(deltas, 0.95);
    if (deltaP50 !== null && deltaP95 !== null) {
      metrics.compositor_pts_delta_p50_ms = round(deltaP50);
      metrics.compositor_pts_delta_p95_ms = round(deltaP95);
    }
  }

  #restart(nowMs: number): void {
    this.#startedAtMs = nowMs;
    this.#captured = 0;
    this.#ptsDeltasMs = [];
    this.#queueLevelMax = 0;
    this.#queueDrops = 0;
    this.#encoded = 0;
    this.#encodedBytes = 0;
    this.#encodeMs = [];
    this.#dropped = 0;
    this.#rtpFrames = 0;
    this.#rtpBytes = 0;
    this.#sending = false;
  }
}

function keep(values: number[], value: number): void {
  if (values.length < MAX_VALUES) values.push(value);
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
