import type { Body, LaunchProfile, StreamProfile } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { bool, flag } from '../platform/database/index.ts';
import type { LaunchProfilesTable, StreamProfilesTable } from '../platform/database/tables/profiles.ts';
import { warnAbout } from './rungs/chain.ts';

export type RungRow = Selectable<StreamProfilesTable>;
export type LaunchProfileRow = Selectable<LaunchProfilesTable>;

export type RungPatch = Omit<Body<'streamProfiles.update'>, 'id'>;

export function toRung(row: RungRow): StreamProfile {
  return {
    id: row.id,
    display_name: row.display_name,
    codec: row.codec,
    width: row.width,
    height: row.height,
    fps: row.fps,
    h264_profile: row.h264_profile,
    nominal_bitrate_kbps: row.nominal_bitrate_kbps,
    min_offer_bandwidth_kbps: row.min_offer_bandwidth_kbps,
    recommended_offer_bandwidth_kbps: row.recommended_offer_bandwidth_kbps,
    headroom_factor: row.headroom_factor,
    abr_floor_kbps: row.abr_floor_kbps,
    max_startup_rtt_ms: row.max_startup_rtt_ms,
    min_decode_height: row.min_decode_height,
    high_refresh_display: row.high_refresh_display,
    hardware_encoder_required: bool(row.hardware_encoder_required),
    browser_client: row.browser_client,
    playout0_ms: row.playout0_ms,
    visibility: row.visibility,
  };
}

/** Database columns of a rung. */
export const toRungColumns = (rung: StreamProfile) => ({
  ...rung,
  hardware_encoder_required: flag(rung.hardware_encoder_required),
});

/** The rung with the request's fields applied. */
export function changeRung(rung: StreamProfile, patch: RungPatch): StreamProfile {
  const named = Object.entries(patch).filter(([, value]) => value !== undefined);
  return { ...rung, ...Object.fromEntries(named) };
}

/** Compares ids as text, so that the order is the same with every database. */
export const byId = (a: { id: string }, b: { id: string }): number =>
  a.id < b.id ? -1 : a.id > b.id ? 1 : 0;

/** A launch profile with its chain, best rung first. */
export interface ProfileWithRungs {
  profile: LaunchProfileRow;
  rungs: readonly StreamProfile[];
}

/**
 * References to a launch profile: those that prevent its deletion, and the allow-lists from which a deletion removes
 * it.
 */
export type LaunchProfileUses = Pick<LaunchProfile, 'used_by' | 'allowed_by'>;

export function toLaunchProfile(
  { profile, rungs }: ProfileWithRungs,
  uses: LaunchProfileUses,
): LaunchProfile {
  return {
    id: profile.id,
    display_name: profile.display_name,
    description: profile.description,
    visibility: profile.visibility,
    sort_order: profile.sort_order,
    rungs: rungs.map((rung, index) => ({ position: index + 1, stream_profile: rung })),
    ...uses,
    warnings: warnAbout(rungs),
  };
}
