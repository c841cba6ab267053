/**
 * Playout delay that the viewer is asked for. With 0/0 a browser shows a frame as soon as it is decoded, which saves
 * 15 ms or more; on a path with jitter, a buffer costs less than freezes.
 *
 * Pure: facts and times in, the maximum delay out (the minimum is always 0). A good path gives 0, otherwise the
 * launch's playout delay. Two freezes within 10 s add a step, at most three; 30 s without a freeze remove one. A path
 * is good after 2 s, so that a path on the edge, or alternating reports, do not change the delay with every report.
 */

/**
 * One frame at 60 fps as round trip (a retransmission is back for the next frame), and a third of one as jitter.
 * Chosen, not measured; docs/media.md, "Delay", describes them.
 */
const GOOD_RTT_MS = 15;
const GOOD_JITTER_MS = 5;
const GOOD_FOR_MS = 2_000;
const CALM_MS = 30_000;
/** One freeze may be the app's or the viewer's; two so close are the path's. Chosen, not measured. */
const FREEZE_PAIR_MS = 10_000;
/** A step of less than a frame (17 ms at 60 fps) would not prevent the next freeze. */
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
  /** Last time at which the path was not good; null = always good. */
  #badPathMs: number | null = null;
  #steps = 0;
  #lastFreezeMs: number | null = null;
  #lastStepMs = 0;
  #maxMs = 0;

  /** @param baseMs playout0_ms of the stream */
  constructor(baseMs: number) {
    this.#baseMs = baseMs;
  }

  /** Current maximum, milliseconds. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** @param path from the newest receiver report, milliseconds; null keeps the former value */
  onReport(path: { rttMs: number | null; jitterMs: number }, nowMs: number): PlayoutChange | null {
    if (path.rttMs !== null) this.#rttMs = path.rttMs;
    this.#jitterMs = path.jitterMs;
    return this.#settle(nowMs, 'path');
  }

  /** The viewer reported a freeze. */
  onFreeze(nowMs: number): PlayoutChange | null {
    const paired = this.#lastFreezeMs !== null && nowMs - this.#lastFreezeMs <= FREEZE_PAIR_MS;
    if (paired && this.#steps < MAX_STEPS) this.#steps++;
    // A pair counts once: three freezes are one step, four are two.
    this.#lastFreezeMs = nowMs;
    this.#lastStepMs = nowMs;
    return this.#settle(nowMs, 'freeze');
  }

  /** Call about once a second, because calm time passes without a report. */
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
