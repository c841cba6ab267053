import type { H264Profile } from '@footlight/protocol';
import type { Flag } from '../codec.ts';

/** Rungs, the chains that people choose from, what applies without a choice, and what clients could not play. */
export interface ProfilesTables {
  stream_profiles: StreamProfilesTable;
  launch_profiles: LaunchProfilesTable;
  launch_profile_rungs: LaunchProfileRungsTable;
  app_launch_profiles: AppLaunchProfilesTable;
  profile_policy: ProfilePolicyTable;
  profile_preferences: ProfilePreferencesTable;
  client_failures: ClientFailuresTable;
}

/** One encoding that a session can stream: a rung. */
export interface StreamProfilesTable {
  id: string;
  display_name: string;
  codec: 'h264' | 'hevc' | 'av1';
  width: number;
  height: number;
  fps: number;
  h264_profile: H264Profile;
  nominal_bitrate_kbps: number;
  min_offer_bandwidth_kbps: number;
  recommended_offer_bandwidth_kbps: number;
  headroom_factor: number;
  abr_floor_kbps: number;
  /** 0: no limit. */
  max_startup_rtt_ms: number;
  min_decode_height: number;
  high_refresh_display: 'none' | 'recommended' | 'required';
  hardware_encoder_required: Flag;
  browser_client: 'recommended' | 'supported' | 'risky';
  playout0_ms: number;
  visibility: 'user' | 'debug' | 'internal';
  created_at: number;
  updated_at: number;
}

/** A named chain of rungs; an app may prefer, force or be limited to some. */
export interface LaunchProfilesTable {
  id: string;
  display_name: string;
  description: string;
  visibility: 'user' | 'debug' | 'internal';
  sort_order: number;
  created_at: number;
  updated_at: number;
}

export interface LaunchProfileRungsTable {
  launch_profile_id: string;
  /** From 1, without a gap. */
  position: number;
  stream_profile_id: string;
}

/** The launch profiles that an app is limited to; none: no limit. */
export interface AppLaunchProfilesTable {
  app_id: string;
  launch_profile_id: string;
}

/** One row, id 1, made by the migration that makes the table. */
export interface ProfilePolicyTable {
  id: number;
  /** What applies where neither app nor user choose; null: each app's own numbers. */
  global_default_profile_id: string | null;
  user_overrides_allowed: Flag;
  /** When the shipped catalog was put in, which happens once; null: not yet. */
  shipped_catalog_at: number | null;
}

/** A row exists only while the user has a default of their own. */
export interface ProfilePreferencesTable {
  user_id: string;
  default_profile_id: string;
  updated_at: number;
}

/** What a device failed to play. It outlives the profiles it names, since it speaks of the device. */
export interface ClientFailuresTable {
  device_id: string;
  /** "": none was in force. */
  launch_profile_id: string;
  /** "": none was in force. */
  stream_profile_id: string;
  /** As the catalog spells it; "": of no codec in particular. */
  codec: '' | 'h264' | 'hevc' | 'av1';
  outcome: 'fail';
  recorded_at: number;
}
