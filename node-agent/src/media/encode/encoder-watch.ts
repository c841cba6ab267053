/**
 * Detects stalls of the encoder. Pure.
 *
 * flowing → stalled (1 s without an encoded frame) → flowing, or → dead (5 s). If frames entered the encoder, a stall
 * is reported for the encoder; otherwise for the capture of the display.
 */

export type StallReason = 'no_output' | 'input_starved' | 'negotiation';

export type WatchFinding =
  | { kind: 'stalled'; reason: StallReason; sinceMs: number }
  | { kind: 'recovered'; reason: StallReason; stalledMs: number }
  | { kind: 'dead'; reason: StallReason };

/** Time without an encoded frame after which the event `encoder.stall` is reported. */
const STALL_MS = 1_000;
/**
 * A driver may reset its GPU and continue. After a longer stall it is better to end the session with a reason. Chosen,
 * not measured.
 */
export const ENCODER_DEAD_MS = 5_000;

export class EncoderWatch {
  readonly #deadMs: number;
  #startedAtMs: number;
  #lastInputMs: number | null = null;
  #lastOutputMs: number | null = null;
  #stalled: { reason: StallReason; sinceMs: number } | null = null;
  #dead = false;

  constructor(nowMs: number, deadMs = ENCODER_DEAD_MS) {
    this.#deadMs = deadMs;
    this.#startedAtMs = nowMs;
  }

  input(nowMs: number): void {
    this.#lastInputMs = nowMs;
  }

  output(nowMs: number): WatchFinding | null {
    this.#lastOutputMs = nowMs;
    const stalled = this.#stalled;
    this.#stalled = null;
    return stalled ? { kind: 'recovered', reason: stalled.reason, stalledMs: nowMs - stalled.sinceMs } : null;
  }

  /** Called a few times a second. */
  tick(nowMs: number): WatchFinding | null {
    const sinceMs = this.#lastOutputMs ?? this.#startedAtMs;
    const silentMs = nowMs - sinceMs;
    if (silentMs >= this.#deadMs && !this.#dead) {
      this.#dead = true;
      return { kind: 'dead', reason: this.#reason(nowMs) };
    }
    if (silentMs < STALL_MS || this.#stalled) return null;
    const reason = this.#reason(nowMs);
    this.#stalled = { reason, sinceMs };
    return { kind: 'stalled', reason, sinceMs: silentMs };
  }

  #reason(nowMs: number): StallReason {
    const hasInput = this.#lastInputMs !== null && nowMs - this.#lastInputMs < STALL_MS;
    if (!hasInput) return 'input_starved';
    return this.#lastOutputMs === null ? 'negotiation' : 'no_output';
  }
}

/** Counts frames that entered the encoder but did not leave it within half a second. Pure. */
export class DropWatch {
  static readonly AFTER_MS = 500;
  #waiting: { ptsMs: number; atMs: number }[] = [];

  input(ptsMs: number, nowMs: number): void {
    this.#waiting.push({ ptsMs, atMs: nowMs });
  }

  /** Frames leave the encoder in order, so all older frames are lost. @returns the number of lost frames */
  output(ptsMs: number): number {
    let lost = 0;
    while (this.#waiting[0] && this.#waiting[0].ptsMs <= ptsMs) {
      if (this.#waiting.shift()?.ptsMs !== ptsMs) lost++;
    }
    return lost;
  }

  /** @returns the number of frames that count as lost now */
  tick(nowMs: number): number {
    let lost = 0;
    while (this.#waiting[0] && nowMs - this.#waiting[0].atMs >= DropWatch.AFTER_MS) {
      this.#waiting.shift();
      lost++;
    }
    return lost;
  }
}
