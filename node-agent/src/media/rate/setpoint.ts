import type { RateSettings } from './rate-settings.ts';

/**
 * Share of the estimate that is used after a cliff and below the floor; the rest is for retransmissions and for
 * emptying the queue.
 */
export const BELOW_ESTIMATE = 0.9;
/**
 * Smallest setpoint in kbit/s. Below it even the smallest picture is unusable, and the sound needs more bitrate than
 * the picture. Chosen, not measured.
 */
export const MIN_SETPOINT_KBPS = 100;
/** Time after which the floor applies again: the interval of the changes (`abr_min_interval_ms`). */
const FLOOR_HOLD_MS = 1_000;
/**
 * Interval of the values of the average, independent of the feedback rate: three feedbacks of a browser (16 a second).
 */
const SAMPLE_MS = 200;
/**
 * Share of the setpoint below which a change is not sent to an encoder that follows the estimate directly, because the
 * encoder's own rate varies by more.
 */
const NOISE_SHARE = 0.02;
/**
 * Share of the setpoint above which a fall is applied at once; smaller falls are collected. It corresponds to
 * BELOW_ESTIMATE.
 */
const STEEP_SHARE = 0.1;
/** Shortest interval between slight falls: one fall per value of the average, so it equals SAMPLE_MS. */
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

/** Whether a change is too small for the encoder to follow. */
export function isNoise(kbps: number, fromKbps: number): boolean {
  return Math.abs(kbps - fromKbps) <= NOISE_SHARE * fromKbps;
}

/**
 * Computes the setpoint from the estimate while there is no cliff, by the rules of the mode. Pure.
 *
 * smooth: the setpoint follows the moving average of the estimate in bounded steps, and is lowered only after a dwell.
 * protective: the setpoint is lowered at once. In both modes, while the estimate is below the floor, the setpoint is
 * 0.9 of the estimate. The floor applies again a second after the estimate has exceeded it. Source: docs/media.md,
 * "Rate control".
 */
export class SetpointFollower {
  readonly #settings: RateSettings;
  #averageKbps: number | null = null;
  #sampledAtMs = Number.NEGATIVE_INFINITY;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #belowSinceMs: number | null = null;
  /** Last time at which the estimate was below the floor; null: never. */
  #underFloorAtMs: number | null = null;

  constructor(settings: RateSettings) {
    this.#settings = settings;
  }

  /** Whether the floor is suspended, because the estimate was below it within the last second. */
  isFloorLifted(nowMs: number): boolean {
    return this.#underFloorAtMs !== null && nowMs - this.#underFloorAtMs < FLOOR_HOLD_MS;
  }

  /** Restarts the average after the setpoint was changed for another reason. */
  restart(setpointKbps: number, nowMs: number): void {
    this.#averageKbps = setpointKbps;
    this.#changedAtMs = nowMs;
    this.#belowSinceMs = null;
  }

  /** Called with every estimate. */
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

  /** @returns null: the setpoint does not change */
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

  /** Follows the estimate: down at once, up only at the usual interval, because a viewer can fake the estimate. */
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
