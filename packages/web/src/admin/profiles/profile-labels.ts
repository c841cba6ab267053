import type { ChainWarning, LaunchProfile, StreamProfile } from '@footlight/protocol/rest';
import { countLabel } from '../frame/quantity-labels.ts';

/** Error texts for an id that an administrator chooses. */
export const ID_MESSAGES = {
  blank: 'Choose an id',
  pattern: 'Choose another id: this one cannot be part of an address',
};

export const CODEC_LABELS = { h264: 'H.264', hevc: 'HEVC', av1: 'AV1' };

export const VISIBILITIES = [
  { value: 'user', label: 'People' },
  { value: 'debug', label: 'Administrators: debug' },
  { value: 'internal', label: 'Administrators: internal' },
];
export const VISIBILITY_LABELS = { user: 'People', debug: 'Debug', internal: 'Internal' };

/** A readable bitrate. @param kbps kbit/s */
export function bitrateLabel(kbps: number): string {
  return kbps < 1000 ? `${kbps} kbit/s` : `${(kbps / 1000).toFixed(1)} Mbit/s`;
}

/** A rung's picture in one line. */
export function rungLabel(rung: StreamProfile): string {
  return `${CODEC_LABELS[rung.codec]}, ${rung.width} × ${rung.height}, ${rung.fps} FPS, ${bitrateLabel(rung.nominal_bitrate_kbps)}`;
}

/** Where a launch profile is the default; null: nowhere. */
export function usesLabel(usedBy: LaunchProfile['used_by']): string | null {
  const parts = [
    usedBy.global_default ? 'Default here' : null,
    usedBy.apps.length > 0 ? countLabel(usedBy.apps.length, 'app') : null,
    usedBy.user_preferences > 0 ? countLabel(usedBy.user_preferences, 'person', 'people') : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(', ');
}

const WARNING_LABELS: Record<string, string> = {
  h264_floor_not_last: 'H.264 is not last',
  floor_not_least_demanding: 'H.264 asks more',
};

/** A warning about a chain as a short label; the server's sentence has the details. */
export function warningLabel(warning: Pick<ChainWarning, 'message'> & { code: string }): string {
  return WARNING_LABELS[warning.code] ?? 'Look at the chain';
}

/**
 * Launch profiles that can be a default: those that people may choose, and the stored default.
 * @param none label of the choice without a default
 */
export function defaultOptions(
  profiles: readonly Pick<LaunchProfile, 'id' | 'display_name' | 'visibility'>[],
  currentId: string | null,
  none: string,
) {
  const offered = profiles.filter(({ id, visibility }) => visibility === 'user' || id === currentId);
  return [
    { value: '', label: none },
    ...offered.map(({ id, display_name, visibility }) => ({
      value: id,
      label: visibility === 'user' ? display_name : `${display_name} (hidden from people)`,
    })),
  ];
}
