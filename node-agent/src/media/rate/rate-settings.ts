import type { FloorSettings } from '@footlight/protocol/agent';
import type { AbrMode } from '@footlight/protocol/telemetry';

/** The abr_* host settings (docs/configuration.md). docs/media.md, "Rate control", describes their effect. */
export interface RateSettings extends FloorSettings {
  /** The current mode; it takes abr_enabled into account. */
  abr_mode: AbrMode;
  abr_ewma_alpha: number;
  abr_deadband: number;
  abr_max_up_step: number;
  abr_min_interval_ms: number;
  abr_max_down_step: number;
  abr_down_dwell_ms: number;
  abr_cliff_guard_frac: number;
}

export interface LadderSettings {
  abr_ladder: boolean;
  abr_ladder_max_bias: number;
  abr_ladder_engage_dwell: number;
  abr_ladder_recover_dwell: number;
  abr_ladder_resolution: boolean;
  abr_ladder_res_exponent: number;
  abr_ladder_res_engage_frac: number;
  abr_ladder_res_recover_frac: number;
  abr_ladder_res_engage_dwell: number;
  abr_ladder_res_recover_dwell: number;
  abr_ladder_res_min_step_s: number;
  abr_ladder_res_min_height: number;
  abr_ladder_fps: boolean;
  abr_ladder_floor_follows_rung: boolean;
  abr_ladder_order: 'res_first' | 'fps_first' | 'hybrid';
}
