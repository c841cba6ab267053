import type { PathView } from './estimate.ts';
import type { RateSettings } from './rate-settings.ts';
import { BELOW_ESTIMATE, isNoise, MIN_SETPOINT_KBPS, SetpointFollower } from './setpoint.ts';

/**
 * If the queue is long for this time, the path has a cliff. A lower estimate is enough to empty a shorter queue.
 * Chosen, not measured.
 */
const LONG_QUEUE_FOR_MS = 300;
/** The same growth as that of the estimate: the rate doubles in 1.8 s. */
const CLIMB_FACTOR = 1.08;
const CLIMB_STEP_MS = 200;
/**
 * Time without a queue before a probe, long enough for the first keyframe at the new rate to arrive. Chosen, not
 * measured.
 */
const CALM_MS = 1_000;
/**
 * Queueing delay below which a path counts as calm. It is larger than EXCESS_MS of PathDelay, because a delay above
 * EXCESS_MS already lowers the estimate.
 */
const CALM_QUEUE_MS = 30;
/**
 * Largest rate of a probe, as a factor of the setpoint; the same value as further_exponential_probe_scale of libwebrtc.
 */
const PROBE_FACTOR = 2;
/** Length of a probe: six frames at 60 fps, with at least one feedback of the browser (16 a second). */
export const PROBE_MS = 100;
/** Share of a probe's received rate that becomes the setpoint; beta in draft-ietf-rmcat-gcc-02 has the same value. */
const PROBE_SHARE = 0.85;
/**
 * Interval between probes on a link that stays slow, as a share of the time since its cliff. The interval grows up to
 * ten seconds.
 */
const PROBE_PATIENCE = 0.1;
/**
 * Longest interval between probes. The path may become fast again at any time, and people can bear a low rate for ten
 * more seconds. Chosen, not measured.
 */
const MAX_PROBE_INTERVAL_MS = 10_000;
/**
 * Share of the earlier setpoint at which the climb ends. It is less than 1, because rounding down might never reach the
 * setpoint.
 */
const BACK_SHARE = 0.99;

export type RetargetReason = 'network_down' | 'network_up' | 'ladder' | 'operator' | 'floor';

export type RateAction =
  | { kind: 'retarget'; fromKbps: number; toKbps: number; reason: RetargetReason }
  /**
   * Send nothing until the queue has drained, then send one keyframe. This action follows the `retarget` action of the
   * same cliff.
   */
  | { kind: 'hold' }
  /** Add padding up to this rate for PROBE_MS. */
  | { kind: 'probe'; kbps: number };

export interface RateFacts {
  launchKbps: number;
  /** Floor of the setpoint at the launch size. */
  floorKbps: number;
}

type Phase =
  | { kind: 'following' }
  | { kind: 'draining'; beforeKbps: number }
  | {
      kind: 'climbing';
      beforeKbps: number;
      /** Time of the cliff, or of the last clean probe. */
      sinceMs: number;
      steppedAtMs: number;
      calmSinceMs: number;
    };

type Climbing = Extract<Phase, { kind: 'climbing' }>;

/**
 * Decides the encoder's target bitrate of one session. Pure.
 *
 *   following ── cliff ──► draining ── queue empty ──► climbing ── earlier setpoint ──► following
 *                             ▲                            │
 *                             └────────── cliff ───────────┘
 *
 * following: the rules of the mode apply. draining: nothing is sent. climbing: the target grows by 8 % per 200 ms up to
 * the estimate. After each calm second a padding probe is sent, because only more traffic shows that a link can carry
 * more. In the mode `off`, there are no actions. Source: docs/media.md, "Rate control".
 */
export class RateControl {
  readonly #settings: RateSettings;
  readonly #facts: RateFacts;
  readonly #follower: SetpointFollower;
  #phase: Phase = { kind: 'following' };
  #setpointKbps: number;
  #floorShare = 1;
  #probing = false;

  constructor(settings: RateSettings, facts: RateFacts) {
    this.#settings = settings;
    this.#facts = facts;
    this.#follower = new SetpointFollower(settings);
    this.#setpointKbps = facts.launchKbps;
  }

  get setpointKbps(): number {
    return this.#setpointKbps;
  }

  /** Current floor, in kbit/s. */
  get floorKbps(): number {
    return Math.round(this.#facts.floorKbps * this.#floorShare);
  }

  get isDraining(): boolean {
    return this.#phase.kind === 'draining';
  }

  /** Whether the path keeps the setpoint below its former value. */
  get isCongested(): boolean {
    return this.#phase.kind !== 'following';
  }

  /** @param share pixels in use divided by pixels at launch */
  scaleFloor(share: number): void {
    this.#floorShare = share;
  }

  /**
   * Sets the target by hand. In the mode `off`, the target then stays; in other modes it is only the starting point.
   */
  tune(wantedKbps: number, lowestKbps: number, nowMs: number): RateAction[] {
    this.#phase = { kind: 'following' };
    const kbps = Math.min(this.#facts.launchKbps, Math.max(lowestKbps, wantedKbps));
    const actions = this.#retarget(kbps, 'operator');
    this.#follower.restart(kbps, nowMs);
    return actions;
  }

  /** Called with every feedback, and a few times a second. @param path estimate without the rate of sound */
  step(path: PathView, nowMs: number): RateAction[] {
    const { abr_mode } = this.#settings;
    if (abr_mode === 'off' || path.kbps === null) return [];
    const { launchKbps } = this.#facts;
    const facts = {
      setpointKbps: this.#setpointKbps,
      estimateKbps: path.kbps,
      floorKbps: this.floorKbps,
      launchKbps,
    };
    this.#follower.sample(facts, nowMs);
    if (this.#phase.kind === 'draining') return this.#lowerTo(path.kbps);
    if (this.#isCliff(path, nowMs)) return this.#fall(path.kbps);
    if (this.#phase.kind === 'climbing') return this.#climb(this.#phase, path, nowMs);
    const change = this.#follower.decide(facts, nowMs);
    return change ? this.#retarget(change.kbps, change.reason) : [];
  }

  /** Called when the queue is empty and sending resumes. */
  drained(nowMs: number): void {
    if (this.#phase.kind !== 'draining') return;
    const { beforeKbps } = this.#phase;
    this.#phase = { kind: 'climbing', beforeKbps, sinceMs: nowMs, steppedAtMs: nowMs, calmSinceMs: nowMs };
  }

  /** Called when a probe has ended. @param receivedKbps null: the probe was not clean, or no feedback arrived */
  probed(receivedKbps: number | null, nowMs: number): RateAction[] {
    this.#probing = false;
    if (this.#phase.kind !== 'climbing') return [];
    if (receivedKbps === null) return [];
    this.#phase.sinceMs = nowMs;
    this.#phase.steppedAtMs = nowMs;
    const kbps = Math.round(Math.min(this.#phase.beforeKbps, receivedKbps * PROBE_SHARE));
    return kbps > this.#setpointKbps ? this.#climbTo(kbps, this.#phase, nowMs) : [];
  }

  /** Called when the path was closed: its measurements are dropped. */
  reset(): void {
    this.#probing = false;
    if (this.#phase.kind === 'draining') this.#phase = { kind: 'following' };
  }

  #isCliff({ kbps, longQueueSinceMs }: PathView, nowMs: number): boolean {
    if (kbps === null || kbps >= this.#setpointKbps || this.#setpointKbps <= MIN_SETPOINT_KBPS) return false;
    if (kbps < this.#settings.abr_cliff_guard_frac * this.#setpointKbps) return true;
    return longQueueSinceMs !== null && nowMs - longQueueSinceMs >= LONG_QUEUE_FOR_MS;
  }

  #fall(estimateKbps: number): RateAction[] {
    const beforeKbps = this.#phase.kind === 'following' ? this.#setpointKbps : this.#phase.beforeKbps;
    this.#phase = { kind: 'draining', beforeKbps };
    this.#probing = false;
    return [...this.#lowerTo(estimateKbps), { kind: 'hold' }];
  }

  #lowerTo(estimateKbps: number): RateAction[] {
    const kbps = Math.max(MIN_SETPOINT_KBPS, Math.round(BELOW_ESTIMATE * estimateKbps));
    const isWorthIt = kbps < this.#setpointKbps && !isNoise(kbps, this.#setpointKbps);
    return isWorthIt ? this.#retarget(kbps, 'network_down') : [];
  }

  #climb(phase: Climbing, path: PathView, nowMs: number): RateAction[] {
    const estimateKbps = path.kbps ?? this.#setpointKbps;
    if (path.queueingDelayMs > CALM_QUEUE_MS) phase.calmSinceMs = nowMs;
    if (estimateKbps < this.#setpointKbps) {
      phase.calmSinceMs = nowMs;
      phase.steppedAtMs = nowMs;
      return this.#lowerTo(estimateKbps);
    }
    const actions: RateAction[] = [];
    if (nowMs - phase.steppedAtMs >= CLIMB_STEP_MS && path.queueingDelayMs <= CALM_QUEUE_MS) {
      // The remaining time counts for the next step, because feedback does not arrive every 200 ms exactly.
      phase.steppedAtMs = Math.max(phase.steppedAtMs + CLIMB_STEP_MS, nowMs - CLIMB_STEP_MS);
      // Rounded down, because a rounded-up target would exceed the estimate and be reduced again.
      const kbps = Math.floor(Math.min(phase.beforeKbps, estimateKbps, this.#setpointKbps * CLIMB_FACTOR));
      if (kbps > this.#setpointKbps) actions.push(...this.#climbTo(kbps, phase, nowMs));
    }
    if (this.#phase.kind === 'climbing' && !this.#probing && this.#isProbeDue(phase, nowMs)) {
      this.#probing = true;
      phase.calmSinceMs = nowMs + PROBE_MS;
      // The probe is limited to the earlier setpoint, because a higher probe could fail without need.
      const enoughKbps = phase.beforeKbps / PROBE_SHARE;
      actions.push({ kind: 'probe', kbps: Math.min(enoughKbps, this.#setpointKbps * PROBE_FACTOR) });
    }
    return actions;
  }

  #isProbeDue({ calmSinceMs, sinceMs }: Climbing, nowMs: number): boolean {
    const patienceMs = Math.min(MAX_PROBE_INTERVAL_MS, (nowMs - sinceMs) * PROBE_PATIENCE);
    return nowMs - calmSinceMs >= Math.max(CALM_MS, patienceMs);
  }

  #climbTo(kbps: number, phase: Climbing, nowMs: number): RateAction[] {
    const actions = this.#retarget(kbps, 'network_up');
    if (this.#setpointKbps >= phase.beforeKbps * BACK_SHARE) {
      this.#phase = { kind: 'following' };
      this.#follower.restart(this.#setpointKbps, nowMs);
    }
    return actions;
  }

  #retarget(toKbps: number, reason: RetargetReason): RateAction[] {
    const fromKbps = this.#setpointKbps;
    if (toKbps === fromKbps) return [];
    this.#setpointKbps = toKbps;
    return [{ kind: 'retarget', fromKbps, toKbps, reason }];
  }
}
