/**
 * Computes the playout delay that is requested from the viewer's browser. With 0/0 a browser shows a frame as soon as
 * it is decoded, which saves 15 ms or more. But on a path with jitter, a buffer is better than freezes.
 *
 * Pure. The result is the maximum delay; the minimum is always 0. On a good path the maximum is 0, otherwise the
 * launch's playout delay. Two freezes within 10 s add a step, at most three steps; 30 s without a freeze remove a step.
 * A path counts as good only after 2 s, so that the delay does not change with every report on a path close to the
 * limits.
 */

/**
 * Limits of a good path. Round trip: one frame at 60 fps, so that a retransmission arrives before the next frame.
 * Jitter: a third of a frame. Chosen, not measured; docs/media.md, "Delay", describes them.
 */
const GOOD_RTT_MS = 15;
const GOOD_JITTER_MS = 5;
const GOOD_FOR_MS = 2_000;
const CALM_MS = 30_000;
/**
 * The app or the viewer's machine may cause a single freeze. Two freezes within this time are caused by the path.
 * Chosen, not measured.
 */
const FREEZE_PAIR_MS = 10_000;
/** Smallest step. A step of less than a frame (17 ms at 60 fps) would not prevent the next freeze. */
const MIN_STEP_MS = 25;
const MAX_STEPS = 3;

export interface PlayoutChange {
  fromMs: number;
  toMs: number;
  reason: 'freeze' | 'path' | 'calm';
}

export class PlayoutDelay {
  readonly #baseMs: number;
  #rttMs = 0;
  #jitterMs = 0;
  /** Last time at which the path was not good; null: it was always good. */
  #badPathMs: number | null = null;
  #steps = 0;
  #lastFreezeMs: number | null = null;
  #lastStepMs = 0;
  #maxMs = 0;

  /** @param baseMs playout0_ms of the stream */
  constructor(baseMs: number) {
    this.#baseMs = baseMs;
  }

  /** Current maximum delay in milliseconds. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** @param path values of the newest receiver report, in milliseconds; null: the former value is kept */
  onReport(path: { rttMs: number | null; jitterMs: number }, nowMs: number): PlayoutChange | null {
    if (path.rttMs !== null) this.#rttMs = path.rttMs;
    this.#jitterMs = path.jitterMs;
    return this.#settle(nowMs, 'path');
  }

  /** Called when the viewer reported a freeze. */
  onFreeze(nowMs: number): PlayoutChange | null {
    const paired = this.#lastFreezeMs !== null && nowMs - this.#lastFreezeMs <= FREEZE_PAIR_MS;
    if (paired && this.#steps < MAX_STEPS) this.#steps++;
    // A pair counts only once, so three freezes are one step and four are two steps.
    this.#lastFreezeMs = nowMs;
    this.#lastStepMs = nowMs;
    return this.#settle(nowMs, 'freeze');
  }

  /** Called about once a second, because a step must also be removed when no report arrives. */
  onTick(nowMs: number): PlayoutChange | null {
    return this.#settle(nowMs, 'calm');
  }

  #settle(nowMs: number, reason: PlayoutChange['reason']): PlayoutChange | null {
    const frozeLately = this.#lastFreezeMs !== null && nowMs - this.#lastFreezeMs < CALM_MS;
    if (this.#steps > 0 && !frozeLately && nowMs - this.#lastStepMs >= CALM_MS) {
      this.#steps--;
      this.#lastStepMs = nowMs;
    }
    if (this.#rttMs > GOOD_RTT_MS || this.#jitterMs > GOOD_JITTER_MS) this.#badPathMs = nowMs;
    const wasBadLately = this.#badPathMs !== null && nowMs - this.#badPathMs < GOOD_FOR_MS;
    const good = !wasBadLately && !frozeLately;
    const stepMs = Math.max(this.#baseMs, MIN_STEP_MS);
    const toMs = this.#steps > 0 || !good ? this.#baseMs + this.#steps * stepMs : 0;
    if (toMs === this.#maxMs) return null;
    const change: PlayoutChange = { fromMs: this.#maxMs, toMs, reason };
    this.#maxMs = toMs;
    return change;
  }
}
