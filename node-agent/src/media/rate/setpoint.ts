import type { RateSettings } from './rate-settings.ts';

/**
 * How the modes follow the estimate while nothing falls off a cliff. Pure.
 *
 * smooth: the moving average of the estimate, in bounded steps, down only after a dwell. protective: down at once.
 * Both: below the floor the setpoint is 0.9 of the estimate, and the floor lifts it only after a second above.
 * Source: docs/rate-control.md, "Modes".
 */

/** Share of the estimate that is used where it is followed at once, by the cliff path and below the floor. */
export const BELOW_ESTIMATE = 0.9;
export const MIN_SETPOINT_KBPS = 100;
const FLOOR_HOLD_MS = 1_000;
/** The average takes one value in this time, whatever the pace of feedback. */
const SAMPLE_MS = 200;
/** Smaller changes are not worth telling an encoder that follows the estimate directly. */
const NOISE_SHARE = 0.02;
/** A fall of this share of the setpoint is followed whenever it comes; smaller ones come together. */
const STEEP_SHARE = 0.1;
const SLIGHT_INTERVAL_MS = 200;

export interface Retarget {
  kbps: number;
  reason: 'network_down' | 'network_up' | 'floor';
}

export interface SetpointFacts {
  setpointKbps: number;
  estimateKbps: number;
  floorKbps: number;
  launchKbps: number;
}

/** Whether a change is too small to tell the encoder. */
export function isNoise(kbps: number, fromKbps: number): boolean {
  return Math.abs(kbps - fromKbps) <= NOISE_SHARE * fromKbps;
}

export class SetpointFollower {
  readonly #settings: RateSettings;
  #averageKbps: number | null = null;
  #sampledAtMs = Number.NEGATIVE_INFINITY;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #belowSinceMs: number | null = null;
  /** Last instant at which the estimate was below the floor; null = it never was. */
  #underFloorAtMs: number | null = null;

  constructor(settings: RateSettings) {
    this.#settings = settings;
  }

  /** Whether the estimate was below the floor within the last second: the floor does not count then. */
  isFloorLifted(nowMs: number): boolean {
    return this.#underFloorAtMs !== null && nowMs - this.#underFloorAtMs < FLOOR_HOLD_MS;
  }

  /** The setpoint was moved by something else; the average starts from there. */
  restart(setpointKbps: number, nowMs: number): void {
    this.#averageKbps = setpointKbps;
    this.#changedAtMs = nowMs;
    this.#belowSinceMs = null;
  }

  /** To be called with every estimate. */
  sample({ estimateKbps, floorKbps, setpointKbps }: SetpointFacts, nowMs: number): void {
    if (estimateKbps < floorKbps) this.#underFloorAtMs = nowMs;
    if (nowMs - this.#sampledAtMs >= SAMPLE_MS) {
      this.#sampledAtMs = nowMs;
      const { abr_ewma_alpha: alpha } = this.#settings;
      const averageKbps = this.#averageKbps ?? estimateKbps;
      this.#averageKbps = averageKbps + alpha * (estimateKbps - averageKbps);
    }
    if ((this.#averageKbps ?? estimateKbps) >= setpointKbps) this.#belowSinceMs = null;
    else this.#belowSinceMs ??= nowMs;
  }

  /** @returns null = leave it */
  decide(facts: SetpointFacts, nowMs: number): Retarget | null {
    const { estimateKbps, floorKbps, launchKbps, setpointKbps } = facts;
    if (estimateKbps < floorKbps) {
      const kbps = Math.max(MIN_SETPOINT_KBPS, Math.round(BELOW_ESTIMATE * estimateKbps));
      return this.#follow(Math.min(kbps, launchKbps), setpointKbps, 'floor', nowMs);
    }
    if (setpointKbps < floorKbps) {
      return this.isFloorLifted(nowMs) ? null : this.#change(floorKbps, 'floor', nowMs);
    }
    const { abr_mode, abr_deadband, abr_min_interval_ms, abr_max_up_step, abr_max_down_step } =
      this.#settings;
    if (abr_mode === 'protective' && estimateKbps < setpointKbps) {
      return this.#follow(Math.max(floorKbps, Math.round(estimateKbps)), setpointKbps, 'network_down', nowMs);
    }
    const wantedKbps = Math.min(launchKbps, Math.max(floorKbps, this.#averageKbps ?? estimateKbps));
    if (Math.abs(wantedKbps - setpointKbps) < abr_deadband * setpointKbps) return null;
    if (nowMs - this.#changedAtMs < abr_min_interval_ms) return null;
    if (wantedKbps > setpointKbps) {
      const kbps = Math.min(wantedKbps, setpointKbps * (1 + abr_max_up_step));
      return this.#change(kbps, 'network_up', nowMs);
    }
    const { abr_down_dwell_ms } = this.#settings;
    if (this.#belowSinceMs === null || nowMs - this.#belowSinceMs < abr_down_dwell_ms) return null;
    return this.#change(Math.max(wantedKbps, setpointKbps * (1 - abr_max_down_step)), 'network_down', nowMs);
  }

  /** Goes with the estimate: down at once, up not more often than ever, since the estimate may be anybody's word. */
  #follow(kbps: number, fromKbps: number, reason: Retarget['reason'], nowMs: number): Retarget | null {
    if (isNoise(kbps, fromKbps)) return null;
    const { abr_min_interval_ms } = this.#settings;
    const isSteep = kbps <= (1 - STEEP_SHARE) * fromKbps;
    const intervalMs = kbps > fromKbps ? abr_min_interval_ms : isSteep ? 0 : SLIGHT_INTERVAL_MS;
    return nowMs - this.#changedAtMs < intervalMs ? null : this.#change(kbps, reason, nowMs);
  }

  #change(kbps: number, reason: Retarget['reason'], nowMs: number): Retarget {
    this.#changedAtMs = nowMs;
    return { kbps: Math.round(kbps), reason };
  }
}
