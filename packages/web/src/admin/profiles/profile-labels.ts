import type { ChainWarning, LaunchProfile, StreamProfile } from '@footlight/protocol/rest';
import { localeTag, msg, plural, t } from '../../i18n/translate.ts';

/** Error texts for an id that an administrator chooses. */
export const ID_MESSAGES = {
  blank: msg('Choose an id'),
  pattern: msg('Choose another id: this one cannot be part of an address'),
};

export const CODEC_LABELS = { h264: 'H.264', hevc: 'HEVC', av1: 'AV1' };

export const VISIBILITIES = [
  { value: 'user', label: msg('People') },
  { value: 'debug', label: msg('Administrators: debug') },
  { value: 'internal', label: msg('Administrators: internal') },
];
/** Explains the choices of VISIBILITIES. */
export const VISIBILITY_NOTE = msg(
  'People do not see the choices “debug” (for finding faults) and “internal” (for tests).',
);
export const VISIBILITY_LABELS = { user: msg('People'), debug: msg('Debug'), internal: msg('Internal') };

/** A readable bitrate. @param kbps kbit/s */
export function bitrateLabel(kbps: number): string {
  if (kbps < 1000) return `${kbps} kbit/s`;
  const options = { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false };
  return `${(kbps / 1000).toLocaleString(localeTag(), options)} Mbit/s`;
}

/** A rung's picture in one line. */
export function rungLabel(rung: StreamProfile): string {
  return `${CODEC_LABELS[rung.codec]}, ${rung.width} × ${rung.height}, ${rung.fps} FPS, ${bitrateLabel(rung.nominal_bitrate_kbps)}`;
}

/** Where a launch profile is the default; null: nowhere. */
export function usesLabel(usedBy: LaunchProfile['used_by']): string | null {
  const parts = [
    usedBy.global_default ? t('Default here') : null,
    usedBy.apps.length > 0 ? plural(usedBy.apps.length, '{n} app', '{n} apps') : null,
    usedBy.user_preferences > 0 ? plural(usedBy.user_preferences, '{n} person', '{n} people') : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(', ');
}

const WARNING_LABELS: Record<string, string> = {
  h264_floor_not_last: msg('H.264 is not last'),
  floor_not_least_demanding: msg('H.264 asks more'),
};

/** Sentences about a chain (control-plane/src/profiles/rungs/chain.ts). */
export const CHAIN_SENTENCES = [
  msg('The last H.264 rung, {floor}, is not the last of the chain: {last} comes after it.'),
  msg('The last H.264 rung, {floor}, asks more than {easier}, so it may fail where that one works.'),
] as const;

/** A warning about a chain as a short label; the server's sentence has the details. */
export function warningLabel(warning: Pick<ChainWarning, 'message'> & { code: string }): string {
  return t(WARNING_LABELS[warning.code] ?? msg('Look at the chain'));
}

/**
 * Whether a warning names a fault. At the same quality H.264 needs more bitrate than newer codecs, so also the shipped
 * chains have a floor that asks more than one of their rungs. The page of a profile explains this.
 */
export const isFault = ({ code }: { code: string }): boolean => code !== 'floor_not_least_demanding';

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
      label: visibility === 'user' ? display_name : t('{name} (hidden from people)', { name: display_name }),
    })),
  ];
}
