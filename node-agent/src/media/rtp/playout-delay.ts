/**
 * How long the viewer is asked to hold a frame back. Stamping 0/0 makes a browser show a frame as soon as it is
 * decoded, which is worth 15 ms and more; on a path that jitters, a cushion costs less than freezes do.
 *
 * Pure: facts and an instant go in, the maximum to stamp comes out (the minimum is always 0).
 * good path → 0; otherwise the launch's playout delay; two freezes within 10 s put a step on top, at most three
 * steps; 30 s of calm take one off. A path counts as good once it has been so for 2 s, so that one on the edge, or a
 * viewer whose reports alternate, does not change the delay with every report.
 */

const GOOD_RTT_MS = 15;
const GOOD_JITTER_MS = 5;
const GOOD_FOR_MS = 2_000;
const CALM_MS = 30_000;
const FREEZE_PAIR_MS = 10_000;
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
  /** Last instant at which the path was not good; null = it always was. */
  #badPathMs: number | null = null;
  #steps = 0;
  #lastFreezeMs: number | null = null;
  #lastStepMs = 0;
  #maxMs = 0;

  /** @param baseMs playout0_ms of the stream */
  constructor(baseMs: number) {
    this.#baseMs = baseMs;
  }

  /** Maximum to stamp, milliseconds. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** @param path from the newest receiver report, milliseconds; null keeps what was known */
  onReport(path: { rttMs: number | null; jitterMs: number }, nowMs: number): PlayoutChange | null {
    if (path.rttMs !== null) this.#rttMs = path.rttMs;
    this.#jitterMs = path.jitterMs;
    return this.#settle(nowMs, 'path');
  }

  /** The viewer reported a freeze. */
  onFreeze(nowMs: number): PlayoutChange | null {
    const paired = this.#lastFreezeMs !== null && nowMs - this.#lastFreezeMs <= FREEZE_PAIR_MS;
    if (paired && this.#steps < MAX_STEPS) this.#steps++;
    // A pair is used up, so that three freezes are one step and four are two.
    this.#lastFreezeMs = nowMs;
    this.#lastStepMs = nowMs;
    return this.#settle(nowMs, 'freeze');
  }

  /** To be called about once a second: calm passes without a report. */
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
