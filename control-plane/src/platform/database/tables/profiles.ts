import type { H264Profile } from '@footlight/protocol';
import type { Flag } from '../codec.ts';

/** Rungs, launch profiles, defaults, and client failures. */
export interface ProfilesTables {
  stream_profiles: StreamProfilesTable;
  launch_profiles: LaunchProfilesTable;
  launch_profile_rungs: LaunchProfileRungsTable;
  app_launch_profiles: AppLaunchProfilesTable;
  profile_policy: ProfilePolicyTable;
  profile_preferences: ProfilePreferencesTable;
  client_failures: ClientFailuresTable;
}

/** A rung: one encoding of a stream. */
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

/** A named chain of rungs; an app may prefer or force one launch profile, or allow only some launch profiles. */
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
  /** Place in the chain, from 1 without gaps. */
  position: number;
  stream_profile_id: string;
}

/** Permitted launch profiles of an app; no rows: all launch profiles are permitted. */
export interface AppLaunchProfilesTable {
  app_id: string;
  launch_profile_id: string;
}

/** One row with id 1, inserted by the migration. */
export interface ProfilePolicyTable {
  id: number;
  /**
   * The profile that applies when neither app nor user has chosen one; null: each app's own size, frame rate and
   * bitrate apply.
   */
  global_default_profile_id: string | null;
  user_overrides_allowed: Flag;
  /** Time when the shipped catalog was stored, which happens only once; null: not stored yet. */
  shipped_catalog_at: number | null;
}

/** A row exists only while the user has a default. */
export interface ProfilePreferencesTable {
  user_id: string;
  default_profile_id: string;
  updated_at: number;
}

/** Profiles that a device failed to play. Rows stay when the profiles that they name are deleted. */
export interface ClientFailuresTable {
  device_id: string;
  /** "": no launch profile was used. */
  launch_profile_id: string;
  /** "": no rung was used. */
  stream_profile_id: string;
  /** Codec name as in the catalog; "": no particular codec. */
  codec: '' | 'h264' | 'hevc' | 'av1';
  outcome: 'fail';
  recorded_at: number;
}
