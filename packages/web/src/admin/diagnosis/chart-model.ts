/** Series of a session as lines of charts on one time axis. Pure. */
import { msg } from '../../i18n/translate.ts';
import type { ChartLine } from '../frame/chart/chart-lines.ts';

/** Milliseconds since 1970; both ends are included. */
export interface Span {
  from_ms: number;
  to_ms: number;
}
export interface SeriesPoint {
  ts_unix_ms: number;
  v: number;
}
export type SeriesByName = Readonly<Record<string, readonly SeriesPoint[]>>;

export interface Line {
  /** Name of the series. */
  name: string;
  label: string;
  /** The series is a running total: each point shows the increase since the previous point. */
  counts?: true;
  /** Points are not joined by lines. */
  dots?: true;
}
/** A chart: what is measured, and its lines. */
export interface SeriesChart {
  label: string;
  unit: string;
  lines: readonly Line[];
  /** The condition of the verdict whose threshold is drawn, by series and estimator. */
  bound?: { name: string; estimator: string };
  /** Decimals. */
  digits: 0 | 1;
}

/** The charts, in the order of the stream from the host to the person. */
export const CHARTS: readonly SeriesChart[] = [
  {
    label: msg('Frames'),
    unit: 'fps',
    digits: 0,
    lines: [
      { name: 'encoder.fps', label: msg('encoder') },
      { name: 'client.fps', label: msg('viewer') },
    ],
    bound: { name: 'encoder.fps', estimator: 'p10' },
  },
  {
    label: msg('Encoding, 95th percentile'),
    unit: 'ms',
    digits: 1,
    lines: [{ name: 'encoder.encode_ms_p95', label: msg('encoder') }],
    bound: { name: 'encoder.encode_ms_p95', estimator: 'p95' },
  },
  {
    label: msg('Bitrate'),
    unit: 'Mbit/s',
    digits: 1,
    lines: [
      { name: 'encoder.bitrate_kbps', label: msg('encoder') },
      { name: 'abr.setpoint_kbps', label: msg('target') },
    ],
  },
  {
    label: msg('Round trip'),
    unit: 'ms',
    digits: 0,
    lines: [{ name: 'transport.rtt_ms', label: msg('network') }],
    bound: { name: 'transport.rtt_ms', estimator: 'p95' },
  },
  {
    label: msg('Lost packets'),
    unit: '/s',
    digits: 0,
    lines: [{ name: 'transport.packets_lost', label: msg('network'), counts: true }],
  },
  {
    label: msg('Unevenness of frames'),
    unit: 'ms',
    digits: 1,
    lines: [{ name: 'client.present_interval_sd_ms', label: msg('viewer') }],
    bound: { name: 'client.present_interval_sd_ms', estimator: 'max' },
  },
  {
    label: msg('Click to picture'),
    unit: 'ms',
    digits: 0,
    // Clicks are rare, so the points are not joined by lines.
    lines: [{ name: 'client.click_to_photon_ms', label: msg('viewer'), dots: true }],
  },
];

/** The series that shades the time in which the page was hidden. */
export const HIDDEN_SERIES = 'client.is_hidden';

/** All series that the page draws. */
export const SERIES_NAMES: readonly string[] = [
  ...CHARTS.flatMap(({ lines }) => lines.map(({ name }) => name)),
  HIDDEN_SERIES,
];

/** An agent reports every 5 s, a viewer every second; more than two missing samples are a gap. */
export const GAP_MS = { agent: 12_500, viewer: 3_500 } as const;
const KBIT = 1_000;

/** Longest distance between two points that a line joins. */
function gapOf({ name, dots }: Line): number {
  if (dots) return 0;
  return name.startsWith('client.') || (name.startsWith('transport.') && !name.includes('gcc'))
    ? GAP_MS.viewer
    : GAP_MS.agent;
}

/** Points of a line in the unit of its chart. */
export function pointsOf(line: Line, series: SeriesByName): readonly SeriesPoint[] {
  const points = series[line.name] ?? [];
  if (line.counts)
    return points.slice(1).map(({ ts_unix_ms, v }, n) => ({
      ts_unix_ms,
      // A counter that restarts after a reconnect counts as no increase.
      v: Math.max(0, v - (points[n]?.v ?? v)),
    }));
  return line.name.endsWith('_kbps')
    ? points.map(({ ts_unix_ms, v }) => ({ ts_unix_ms, v: v / KBIT }))
    : points;
}

/** Position of an instant on the axis, 0 to 1. */
export const placeOf = (ms: number, { from_ms, to_ms }: Span): number =>
  Math.min(1, Math.max(0, (ms - from_ms) / (to_ms - from_ms)));

/** The lines of a chart, as they are drawn. */
export const drawnLines = ({ lines }: SeriesChart, series: SeriesByName): ChartLine[] =>
  lines.map((line) => ({
    points: pointsOf(line, series).map(({ ts_unix_ms, v }) => ({ x: ts_unix_ms, y: v })),
    gap: gapOf(line),
    ...(line.dots && { dots: true }),
  }));

/** The point at a moment, or the nearest point within the distance that a line may join. */
export function valueAt(line: Line, points: readonly SeriesPoint[], ms: number): number | undefined {
  let nearest: SeriesPoint | undefined;
  for (const point of points) {
    if (nearest !== undefined && Math.abs(point.ts_unix_ms - ms) > Math.abs(nearest.ts_unix_ms - ms)) break;
    nearest = point;
  }
  if (nearest === undefined) return undefined;
  return Math.abs(nearest.ts_unix_ms - ms) <= Math.max(gapOf(line), GAP_MS.viewer) ? nearest.v : undefined;
}

/**
 * The newest moment for which host and viewer have samples. A viewer posts every 5 s, so its values are missing at the
 * end of a live window. If host or viewer has been silent for more than GAP_MS.agent, the end of the window is
 * returned.
 */
export function newestMs(series: SeriesByName, { from_ms, to_ms }: Span): number {
  const last = (gapMs: number) =>
    Math.max(
      from_ms,
      ...CHARTS.flatMap(({ lines }) =>
        lines
          .filter((line) => gapOf(line) === gapMs)
          .flatMap(({ name }) => series[name]?.at(-1)?.ts_unix_ms ?? []),
      ),
    );
  const both = Math.min(last(GAP_MS.agent), last(GAP_MS.viewer));
  return to_ms - both <= GAP_MS.agent ? Math.min(both, to_ms) : to_ms;
}

/** Parts of the window in which a series of zeros and ones was 1. */
export function trueSpans(points: readonly SeriesPoint[]): Span[] {
  const spans: Span[] = [];
  let open = false;
  for (const { ts_unix_ms, v } of points) {
    const last = spans.at(-1);
    if (v === 0) open = false;
    else if (open && last !== undefined && ts_unix_ms - last.to_ms <= GAP_MS.viewer) last.to_ms = ts_unix_ms;
    else {
      spans.push({ from_ms: ts_unix_ms, to_ms: ts_unix_ms });
      open = true;
    }
  }
  return spans;
}

/** Rows of a table. The window is divided into equal parts, and each row has the mean of every line in one part. */
export function tableOf(
  lines: readonly Line[],
  series: SeriesByName,
  span: Span,
  rows: number,
): { from_ms: number; means: (number | undefined)[] }[] {
  const partMs = (span.to_ms - span.from_ms) / rows;
  const sums = lines.map((line) => {
    const parts = Array.from({ length: rows }, () => ({ sum: 0, n: 0 }));
    for (const { ts_unix_ms, v } of pointsOf(line, series)) {
      const part = parts[Math.min(rows - 1, Math.floor((ts_unix_ms - span.from_ms) / partMs))];
      if (part === undefined) continue;
      part.sum += v;
      part.n += 1;
    }
    return parts;
  });
  return Array.from({ length: rows }, (_, row) => ({
    from_ms: span.from_ms + row * partMs,
    means: sums.map((parts) => {
      const part = parts[row];
      return part === undefined || part.n === 0 ? undefined : part.sum / part.n;
    }),
  }));
}
