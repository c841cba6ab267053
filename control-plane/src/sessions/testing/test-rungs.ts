import type { StreamProfile } from '@footlight/protocol/rest';

/** A rung without requirements, except those in the given fields. */
export const aRung = (id: string, fields: Partial<StreamProfile> = {}): StreamProfile => ({
  id,
  display_name: id,
  codec: 'h264',
  width: 1280,
  height: 720,
  fps: 60,
  h264_profile: 'constrained-baseline',
  nominal_bitrate_kbps: 4_500,
  min_offer_bandwidth_kbps: 0,
  recommended_offer_bandwidth_kbps: 0,
  headroom_factor: 1.5,
  abr_floor_kbps: 1_500,
  max_startup_rtt_ms: 0,
  min_decode_height: 0,
  high_refresh_display: 'none',
  hardware_encoder_required: false,
  browser_client: 'supported',
  playout0_ms: 50,
  visibility: 'internal',
  ...fields,
});
