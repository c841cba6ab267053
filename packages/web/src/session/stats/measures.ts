/** The measurements of each second in the statistics: names, units, and how to read their values. Pure. */
import type { NetworkPath } from '@footlight/protocol/telemetry';
import type { DelaySplit, StreamStats } from '@footlight/stream-client';
import { NETWORK_PATH_LABELS } from '../../components/network-path-labels.ts';
import { localeTag, msg, t } from '../../i18n/translate.ts';

/** One series over the last minute. */
export interface Measure {
  key: string;
  /** label, untranslated */
  label: string;
  unit: string;
  /** Smallest upper end of the scale, because smaller values are noise and must look small. Chosen, not measured. */
  least: number;
  read: (stats: StreamStats) => number | undefined;
}

export const FRAMES: Measure = {
  key: 'fps',
  label: msg('Frames a second'),
  unit: '/s',
  least: 10,
  read: (stats) => number(stats.metrics.fps),
};
export const DELAY: Measure = {
  key: 'delay',
  label: msg('Delay, screen to screen'),
  unit: 'ms',
  least: 50,
  read: (stats) => stats.delay?.total_ms ?? number(stats.metrics.rvfc_capture_to_display_ms),
};
/**
 * Number of frames of a second that the page shows to a person. The page's second can be a little longer than the
 * host's and then contains frames of the next second. A number above the session's rate would confuse the person, so it
 * is limited to this rate.
 */
export const framesShown = (frames: number | undefined, targetFps: number | undefined): number | undefined =>
  frames === undefined || targetFps === undefined ? frames : Math.min(frames, targetFps);

/** Measurements in the order in which a person searches for a cause. */
export const OTHERS: readonly Measure[] = [
  {
    key: 'rate',
    label: msg('Data rate'),
    unit: 'Mbit/s',
    least: 1,
    read: (stats) => number(stats.metrics.bitrate_kbps, 1000),
  },
  {
    key: 'rtt',
    label: msg('Round trip'),
    unit: 'ms',
    least: 20,
    read: (stats) => number(stats.metrics.rtt_ms),
  },
  {
    key: 'loss',
    label: msg('Packets lost'),
    unit: '%',
    least: 1,
    read: (stats) => (stats.loss === null ? undefined : stats.loss * 100),
  },
  {
    key: 'jitter',
    label: msg('Jitter'),
    unit: 'ms',
    least: 10,
    read: (stats) => number(stats.metrics.jitter_ms),
  },
  {
    key: 'buffer',
    label: msg('Wait in the buffer'),
    unit: 'ms',
    least: 20,
    read: (stats) => number(stats.metrics.jitter_buffer_ms),
  },
  {
    key: 'decode',
    label: msg('Decoding'),
    unit: 'ms',
    least: 10,
    read: (stats) => number(stats.metrics.decode_ms),
  },
];

/** Parts of the delay, in the order in which a frame passes them. */
export const PARTS: readonly { key: Exclude<keyof DelaySplit, 'total_ms'>; label: string }[] = [
  { key: 'capture_ms', label: msg('Capture') },
  { key: 'encode_ms', label: msg('Encode') },
  { key: 'network_ms', label: msg('Network') },
  { key: 'decode_ms', label: msg('Decode') },
  { key: 'present_ms', label: msg('Show') },
];

/** The newest click to photon of the last minute, because only seconds with a press have a value. */
export function clickToPhoton(history: readonly StreamStats[]): number | undefined {
  for (let at = history.length - 1; at >= 0; at -= 1) {
    const value = number(history[at]?.metrics.click_to_photon_ms);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The newest delay split of the last seconds, because a second without a timed frame has none. */
export function newestSplit(history: readonly StreamStats[]): DelaySplit | null {
  for (const { delay } of history.slice(-RECENT).reverse()) if (delay !== null) return delay;
  return null;
}

/** Seconds for which an older split is shown. Chosen, not measured. */
const RECENT = 5;

/** What the paths cost compared with the direct path by UDP, untranslated. */
const PATH_COSTS: Readonly<Record<Exclude<NetworkPath, 'udp'>, string>> = {
  tcp: msg('a lost packet stops the picture until it is sent again'),
  turn_udp: msg('the relay adds its round trip'),
  turn_tcp: msg('the relay adds its round trip, and a lost packet stops the picture'),
  turn_tls: msg('the relay adds its round trip, and a lost packet stops the picture'),
};

/** The path of the stream if it costs something, translated; null: it costs nothing, or is not known yet. */
export const costlyPathLabel = (path: NetworkPath | null): string | null =>
  path === null || path === 'udp' ? null : t(NETWORK_PATH_LABELS[path]);

/** The path of the stream with its cost. */
function pathLabel(path: NetworkPath | null): string {
  if (path === null) return '–';
  if (path === 'udp') return t(NETWORK_PATH_LABELS.udp);
  return t('{path}; {cost}', { path: t(NETWORK_PATH_LABELS[path]), cost: t(PATH_COSTS[path]) });
}

/** Rows of the full statistics that are not series: [name, value], translated. */
export function factsOf(last: StreamStats): [name: string, value: string][] {
  const { metrics } = last;
  const codec = last.codec_mime_type?.replace('video/', '') ?? '–';
  const hz = number(metrics.display_refresh_hz);
  return [
    [t('Picture'), last.width > 0 ? `${last.width} × ${last.height} · ${codec}` : codec],
    [t('Path'), pathLabel(last.path)],
    [t('Encode time on the host'), valueLabel(number(metrics.encode_ms), 'ms')],
    [t('Frames dropped here'), valueLabel(number(metrics.frames_dropped), '')],
    [t('Freezes'), valueLabel(number(metrics.freeze_count), '')],
    [t('Packets lost in total'), valueLabel(number(metrics.packets_lost), '')],
    [t('Longest gap between frames'), valueLabel(number(metrics.present_interval_max_ms), 'ms')],
    [t('Your display'), hz === undefined ? '–' : `${hz.toFixed(0)} Hz`],
  ];
}

/** A value with its unit, in the person's number format; "–" if nothing was measured. */
export function valueLabel(value: number | undefined, unit: string): string {
  if (value === undefined) return '–';
  const digits = value >= 100 || unit === '/s' || unit === '' ? 0 : 1;
  const label = value.toLocaleString(localeTag(), {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === '' ? label : `${label} ${unit}`;
}

function number(value: number | boolean | undefined, dividedBy = 1): number | undefined {
  return typeof value === 'number' ? value / dividedBy : undefined;
}
