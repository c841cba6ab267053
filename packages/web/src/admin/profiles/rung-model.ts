import type { StreamProfile } from '@footlight/protocol/rest';
import { msg } from '../../i18n/translate.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule, textRule } from '../frame/bound-rules.ts';
import { ID_MESSAGES } from './profile-labels.ts';

/** A rung in form fields. A number is stored as text while a person edits it. */
export type RungForm = {
  [Field in keyof StreamProfile]: StreamProfile[Field] extends number
    ? number | string
    : StreamProfile[Field];
};

/** The form of a new rung. */
export const NEW_RUNG: RungForm = {
  id: '',
  display_name: '',
  codec: 'h264',
  width: 1920,
  height: 1080,
  fps: 60,
  h264_profile: 'constrained-baseline',
  nominal_bitrate_kbps: 8000,
  min_offer_bandwidth_kbps: 0,
  recommended_offer_bandwidth_kbps: 0,
  headroom_factor: 1.5,
  abr_floor_kbps: 0,
  max_startup_rtt_ms: 0,
  min_decode_height: 0,
  high_refresh_display: 'none',
  hardware_encoder_required: false,
  browser_client: 'supported',
  playout0_ms: 50,
  visibility: 'internal',
};

/** Collapsed fields, whose defaults are usually right. */
export const DISCLOSED_FIELDS: readonly (keyof RungForm)[] = [
  'h264_profile',
  'min_offer_bandwidth_kbps',
  'recommended_offer_bandwidth_kbps',
  'headroom_factor',
  'abr_floor_kbps',
  'max_startup_rtt_ms',
  'min_decode_height',
  'high_refresh_display',
  'hardware_encoder_required',
  'browser_client',
  'playout0_ms',
  'visibility',
];

const bounds = bodyBounds['streamProfiles.create'];

/** The rule of each field: describes its error. */
export const rungRules = {
  id: textRule(bounds.id, ID_MESSAGES),
  display_name: textRule(bounds.display_name, { blank: msg('Give it a name') }),
  width: numberRule(bounds.width),
  height: numberRule(bounds.height),
  fps: numberRule(bounds.fps),
  nominal_bitrate_kbps: numberRule(bounds.nominal_bitrate_kbps),
  min_offer_bandwidth_kbps: numberRule(bounds.min_offer_bandwidth_kbps),
  recommended_offer_bandwidth_kbps: numberRule(bounds.recommended_offer_bandwidth_kbps),
  headroom_factor: numberRule(bounds.headroom_factor),
  abr_floor_kbps: numberRule(bounds.abr_floor_kbps),
  max_startup_rtt_ms: numberRule(bounds.max_startup_rtt_ms),
  min_decode_height: numberRule(bounds.min_decode_height),
  playout0_ms: numberRule(bounds.playout0_ms),
};

const BY_CODEC = { av1: 0, hevc: 1, h264: 2 };

/** Rungs in the order of the list: the largest picture first, then the most frames, then the newest codec. Pure. */
export function largestFirst<Rung extends Pick<StreamProfile, 'width' | 'height' | 'fps' | 'codec'>>(
  rungs: readonly Rung[],
): readonly Rung[] {
  return rungs.toSorted(
    (a, b) =>
      b.width * b.height - a.width * a.height || b.fps - a.fps || BY_CODEC[a.codec] - BY_CODEC[b.codec],
  );
}

/** The rung of a form. */
export function rungOf(form: RungForm): StreamProfile {
  return {
    id: form.id.trim(),
    display_name: form.display_name.trim(),
    codec: form.codec,
    width: Number(form.width),
    height: Number(form.height),
    fps: Number(form.fps),
    h264_profile: form.h264_profile,
    nominal_bitrate_kbps: Number(form.nominal_bitrate_kbps),
    min_offer_bandwidth_kbps: Number(form.min_offer_bandwidth_kbps),
    recommended_offer_bandwidth_kbps: Number(form.recommended_offer_bandwidth_kbps),
    headroom_factor: Number(form.headroom_factor),
    abr_floor_kbps: Number(form.abr_floor_kbps),
    max_startup_rtt_ms: Number(form.max_startup_rtt_ms),
    min_decode_height: Number(form.min_decode_height),
    high_refresh_display: form.high_refresh_display,
    hardware_encoder_required: form.hardware_encoder_required,
    browser_client: form.browser_client,
    playout0_ms: Number(form.playout0_ms),
    visibility: form.visibility,
  };
}
