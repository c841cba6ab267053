import type { AgentMetrics } from '@footlight/protocol/telemetry';

/** Smallest relative change of the bitrate that is checked. */
const JUDGED_CHANGE = 0.1;
/** Longest allowed gap between two frames, and the time after a write in which gaps are checked. */
const SILENCE_MS = 500;
const WATCHED_MS = 2_000;
/** Window after a write in which the mean bitrate is measured, and the share by which it may miss the target. */
const MEAN_FROM_MS = 2_000;
const MEAN_TO_MS = 6_000;
const MEAN_MISS = 0.4;

interface Write {
  atMs: number;
  targetKbps: number;
  lastFrameAtMs: number;
  /** Bytes of the frames in the window of the mean. */
  bytes: number;
}

/**
 * Checks whether an encoder can change its bitrate while it runs: it must accept the write, continue to encode frames,
 * and reach the new bitrate. Pure. Source: docs/quality.md, "Verdicts".
 */
export class LiveWrites {
  readonly #fillsItsBitrate: boolean;
  #write: Write | null = null;
  /** null: no change was checked yet. */
  #isStable: boolean | null = null;

  /**
   * @param fillsItsBitrate whether the whole picture moves. If not, a bitrate below the target proves nothing, because
   * a still picture needs hardly any bitrate
   */
  constructor({ fillsItsBitrate }: { fillsItsBitrate: boolean }) {
    this.#fillsItsBitrate = fillsItsBitrate;
  }

  /**
   * Called when the encoder got a new target in kbit/s. A small change is not checked.
   * @param isTaken false: the encoder refused the target
   */
  written(fromKbps: number, toKbps: number, isTaken: boolean, nowMs: number): void {
    this.tick(nowMs);
    // The previous write is not checked further, because its window would now contain both bitrates.
    this.#write = null;
    if (Math.abs(toKbps - fromKbps) < JUDGED_CHANGE * fromKbps) return;
    this.#isStable ??= true;
    if (!isTaken) this.#isStable = false;
    else this.#write = { atMs: nowMs, targetKbps: toKbps, lastFrameAtMs: nowMs, bytes: 0 };
  }

  /** Called when a frame left the encoder. */
  frame(bytes: number, nowMs: number): void {
    this.tick(nowMs);
    const write = this.#write;
    if (write === null) return;
    write.lastFrameAtMs = nowMs;
    if (nowMs - write.atMs >= MEAN_FROM_MS) write.bytes += bytes;
  }

  /** Called a few times a second. */
  tick(nowMs: number): void {
    const write = this.#write;
    if (write === null) return;
    const silentMs = Math.min(nowMs, write.atMs + WATCHED_MS) - write.lastFrameAtMs;
    if (silentMs > SILENCE_MS) this.#isStable = false;
    if (nowMs - write.atMs < MEAN_TO_MS) return;
    const meanKbps = (write.bytes * 8) / (MEAN_TO_MS - MEAN_FROM_MS);
    const miss = (meanKbps - write.targetKbps) / write.targetKbps;
    if (miss > MEAN_MISS || (this.#fillsItsBitrate && miss < -MEAN_MISS)) this.#isStable = false;
    this.#write = null;
  }

  /** The metric of a sample; empty before a change was checked. */
  metrics(): AgentMetrics {
    return this.#isStable === null ? {} : { live_write_stable: this.#isStable };
  }
}
