import type { StreamProfile } from '@footlight/protocol/rest';
import { pixelsProblem, rangeProblem } from '../frame/number-rules.ts';
import { idProblem } from './id-rule.ts';

/** A rung in form fields; a number is a text while it is edited. */
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
export const FOLDED: readonly (keyof RungForm)[] = [
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

const fromZero = (value: number | string) => rangeProblem(value, 0);

/** Fault of each field. */
export const rungRules = {
  id: idProblem,
  display_name: (value: string) => (value.trim() === '' ? 'Give it a name' : null),
  width: pixelsProblem,
  height: pixelsProblem,
  fps: (value: number | string) => rangeProblem(value, 1, 240),
  nominal_bitrate_kbps: (value: number | string) => rangeProblem(value, 1, 500_000),
  min_offer_bandwidth_kbps: fromZero,
  recommended_offer_bandwidth_kbps: fromZero,
  headroom_factor: (value: number | string) =>
    Number(value) > 0 && Number.isFinite(Number(value)) ? null : 'A number above 0',
  abr_floor_kbps: fromZero,
  max_startup_rtt_ms: fromZero,
  min_decode_height: fromZero,
  playout0_ms: fromZero,
};

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
