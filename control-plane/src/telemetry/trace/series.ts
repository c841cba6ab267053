/** Converts stored samples into series of points, by the series names of the API. Pure. */
import type { JsonObject } from '@footlight/protocol';
import {
  AGENT_SERIES,
  CLIENT_SERIES,
  type ClientSeriesName,
  isNetworkPath,
  NEEDS_CAPTURE_TIME,
  type NetworkPath,
} from '@footlight/protocol/telemetry';
import type { Point, SeriesName } from '../verdict/evidence.ts';

export interface Sample {
  source: 'agent' | 'browser' | 'native';
  /** Time on the clock of the source. */
  ts_unix_ms: number;
  metrics: JsonObject;
}

/**
 * @param samples sorted by the host's clock, oldest first
 * @param shiftMs milliseconds that are added to times of viewers
 * @returns the series that have points, oldest point first; booleans become 1 and 0, and texts are left out
 */
export function seriesOf(
  samples: readonly Sample[],
  shiftMs: number,
): Partial<Record<SeriesName, readonly Point[]>> {
  const series: Partial<Record<SeriesName, Point[]>> = {};
  for (const { source, ts_unix_ms, metrics } of samples) {
    const isAgent = source === 'agent';
    const hasCaptureTime = numberOf(metrics.rvfc_capture_time_available) === 1;
    for (const [name, key] of isAgent ? AGENT_KEYS : CLIENT_KEYS) {
      const v = numberOf(metrics[key]);
      if (v === null || (!hasCaptureTime && NEEDS_CAPTURE_TIME.has(name as ClientSeriesName))) continue;
      series[name] ??= [];
      series[name].push({ ts_unix_ms: ts_unix_ms + (isAgent ? 0 : shiftMs), v });
    }
  }
  return series;
}

/** The path of most samples of viewers; null: none reports its path. Of equally frequent paths, the first one. */
export function mostUsedPath(samples: readonly Sample[]): NetworkPath | null {
  const counts = new Map<NetworkPath, number>();
  for (const { source, metrics } of samples)
    if (source !== 'agent' && isNetworkPath(metrics.path))
      counts.set(metrics.path, (counts.get(metrics.path) ?? 0) + 1);
  let most: [path: NetworkPath, count: number] | null = null;
  for (const [path, count] of counts) if (most === null || count > most[1]) most = [path, count];
  return most?.[0] ?? null;
}

const AGENT_KEYS = Object.entries(AGENT_SERIES) as [SeriesName, string][];
const CLIENT_KEYS = Object.entries(CLIENT_SERIES) as [SeriesName, string][];

function numberOf(value: unknown): number | null {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' ? value : null;
}
