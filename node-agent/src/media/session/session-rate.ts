import { percentile, type Timer } from '@footlight/platform';
import { launchFloorKbps, type StreamSpec } from '@footlight/protocol/agent';
import type { AdaptationState, AgentEventType, AgentMetrics } from '@footlight/protocol/telemetry';
import type { PathView } from '../rate/estimate.ts';
import { Ladder, type LadderLevel } from '../rate/ladder.ts';
import { type RateAction, RateControl, type RetargetReason } from '../rate/rate-control.ts';
import type { PathListener } from '../viewer/viewer-path.ts';
import type { MediaClock } from './media-clock.ts';
import type { MediaSettings } from './media-settings.ts';

export interface SessionRateOptions {
  settings: MediaSettings;
  stream: StreamSpec;
  /** Number of steps by which the running encoder can be made faster. */
  effortSteps: number;
  clock: MediaClock;
  setBitrate(kbps: number): void;
  /** Sets size, frame rate or effort; a new size starts with the next keyframe. */
  setPicture(level: LadderLevel): void;
  forceKeyframe(): void;
  path: { hold(): void; probe(kbps: number): void };
  event(name: AgentEventType, payload: Record<string, unknown>): void;
  /** Called with each report of the path that carries the picture. @param queueMs queueing delay in milliseconds */
  onQueue(queueMs: number): void;
}

/** Length of a window. The dwell times of the ladder (abr_ladder_*_dwell) are numbers of windows. */
const WINDOW_MS = 1_000;
/** Largest number of encode times per window, enough for 240 fps. */
const MAX_ENCODE_TIMES = 240;
/** Share of the launch bitrate below which the log reports congestion. */
const CONGESTED_SHARE = 0.95;

/**
 * Rate control of one session: reads the reports of the path that carries the picture, uses RateControl and Ladder for
 * its decisions, and sets encoder and path. Owner: the media session; close() once.
 */
export class SessionRate implements PathListener {
  readonly #options: SessionRateOptions;
  readonly #control: RateControl;
  readonly #ladder: Ladder;
  readonly #launchFloorKbps: number;
  readonly #timer: Timer;
  #encodeTimesMs: number[] = [];
  #path: PathView | null = null;
  #pinned = false;

  constructor(options: SessionRateOptions) {
    this.#options = options;
    const { settings, stream, effortSteps } = options;
    const launchKbps = stream.bitrate_kbps;
    this.#launchFloorKbps = launchFloorKbps(settings, launchKbps, stream.abr_floor_kbps);
    this.#control = new RateControl(settings, { launchKbps, floorKbps: this.#launchFloorKbps });
    const { width, height, fps, rungs } = stream;
    this.#ladder = new Ladder(settings, { width, height, fps, launchKbps, rungs, effortSteps });
    this.#timer = options.clock.setInterval(() => this.#endWindow(), WINDOW_MS);
  }

  /** Target bitrate of the encoder in kbit/s. */
  get setpointKbps(): number {
    return this.#control.setpointKbps;
  }

  /** The ladder's picture; its size is ignored while a size is pinned. */
  get picture(): LadderLevel {
    return this.#ladder.level;
  }

  /** Called when a frame left the encoder. @param encodeMs null: the frame's input was not seen */
  encoded(encodeMs: number | null): void {
    if (encodeMs !== null && this.#encodeTimesMs.length < MAX_ENCODE_TIMES)
      this.#encodeTimesMs.push(encodeMs);
  }

  /** Sets whether the current size was requested, so that the ladder keeps it. */
  pin(pinned: boolean): void {
    this.#pinned = pinned;
  }

  tune(bitrateKbps: number): void {
    const { clock } = this.#options;
    this.#apply(
      this.#control.tune(bitrateKbps, this.#control.floorKbps, clock.monotonicMs()),
      clock.monotonicMs(),
    );
  }

  onPath(path: PathView, nowMs: number): void {
    this.#path = path;
    this.#options.onQueue(path.queueingDelayMs);
    this.#apply(this.#control.step(path, nowMs), nowMs);
  }

  onDrained(nowMs: number): void {
    this.#control.drained(nowMs);
    this.#options.forceKeyframe();
  }

  onProbed({ receivedKbps, clean }: { receivedKbps: number; clean: boolean }, nowMs: number): void {
    this.#apply(this.#control.probed(clean ? receivedKbps : null, nowMs), nowMs);
  }

  /** Called when another connection or no connection carries the picture: its path is then unknown. */
  pathChanged(): void {
    this.#path = null;
    this.#control.reset();
  }

  /** Rate control's metrics of a window; values that are unknown are missing. */
  metrics(): AgentMetrics {
    const { settings, stream } = this.#options;
    const { width, height, fps, speedBias, sizeRung } = this.#ladder.level;
    const metrics: AgentMetrics = {
      abr_mode: settings.abr_mode,
      adaptation_state: this.#adaptationState(),
    };
    if (this.#path?.kbps) metrics.gcc_estimate_kbps = Math.round(this.#path.kbps);
    if (settings.abr_mode !== 'off') {
      metrics.abr_setpoint_kbps = this.#control.setpointKbps;
      if (this.#control.floorKbps !== this.#launchFloorKbps) metrics.abr_floor_kbps = this.#control.floorKbps;
    }
    if (!this.#pinned && (width !== stream.width || height !== stream.height)) {
      metrics.stream_width = width;
      metrics.stream_height = height;
    }
    if (speedBias > 0) metrics.ladder_speed_bias = speedBias;
    if (sizeRung > 0) metrics.ladder_res_rung = sizeRung;
    if (fps !== stream.fps) metrics.ladder_fps = fps;
    return metrics;
  }

  close(): void {
    this.#timer.cancel();
  }

  #adaptationState(): AdaptationState {
    if (!this.#path || this.#path.kbps === null) return 'unknown';
    const isLow = this.#control.setpointKbps < CONGESTED_SHARE * this.#options.stream.bitrate_kbps;
    if (this.#control.isCongested || (isLow && this.#options.settings.abr_mode !== 'off'))
      return 'network_congested';
    return this.#ladder.isEncoderSlow ? 'encoder_saturated' : 'healthy';
  }

  #endWindow(): void {
    const encodeP95Ms = percentile(
      this.#encodeTimesMs.sort((a, b) => a - b),
      0.95,
    );
    this.#encodeTimesMs = [];
    const nowMs = this.#options.clock.monotonicMs();
    const facts = { encodeP95Ms, setpointKbps: this.#control.setpointKbps, pinned: this.#pinned };
    if (this.#ladder.window(facts, nowMs)) this.#usePicture();
  }

  #apply(actions: readonly RateAction[], nowMs: number): void {
    for (const action of actions) {
      switch (action.kind) {
        case 'retarget':
          this.#retarget(action.fromKbps, action.toKbps, action.reason);
          break;
        case 'hold':
          this.#options.path.hold();
          if (this.#ladder.cliff(this.#control.setpointKbps, this.#pinned, nowMs)) this.#usePicture();
          break;
        case 'probe':
          this.#options.path.probe(action.kbps);
          break;
      }
    }
  }

  #retarget(from_kbps: number, to_kbps: number, reason: RetargetReason): void {
    this.#options.setBitrate(to_kbps);
    this.#options.event('abr.retarget', { from_kbps, to_kbps, reason });
  }

  #usePicture(): void {
    this.#control.scaleFloor(this.#ladder.floorShare);
    this.#options.setPicture(this.#ladder.level);
  }
}
