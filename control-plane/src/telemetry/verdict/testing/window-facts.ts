import type { Point, SeriesName, TraceEventFacts, VerdictFacts } from '../evidence.ts';

/** Start of the window that tests judge; it lasts five minutes, and the session began a minute before it. */
export const FROM_MS = 1_795_168_800_000;
const TO_MS = FROM_MS + 300_000;

/** The same value for all points. */
export const constant = (v: number, count = 20): number[] => Array.from({ length: count }, () => v);

/** Values by series: one value per 5 s from hosts, and one per second from viewers. */
export type WindowValues = Partial<Record<SeriesName, readonly number[]>>;

/** A quiet session at 60 fps. */
const QUIET: WindowValues = {
  'encoder.fps': constant(60),
  'encoder.encode_ms_p95': constant(4),
  'transport.rtt_ms': constant(20),
  'transport.packets_lost': constant(0),
  'client.present_interval_sd_ms': constant(2),
  'client.is_hidden': constant(0),
  'client.present_long_frames': constant(0),
  'client.present_beat_fraction': constant(0.1),
};

/** Points at the interval of their source. */
export function pointsOf(name: SeriesName, values: readonly number[], fromMs = FROM_MS): Point[] {
  const everyMs = name.startsWith('encoder.') ? 5_000 : 1_000;
  return values.map((v, n) => ({ ts_unix_ms: fromMs + n * everyMs, v }));
}

/** A quiet session in which some series have other values; [] removes a series. */
export function factsWith(values: WindowValues, over: Partial<VerdictFacts> = {}): VerdictFacts {
  const series = Object.entries({ ...QUIET, ...values }).map(([name, list]) => [
    name,
    pointsOf(name as SeriesName, list),
  ]);
  return {
    window: { from_ms: FROM_MS, to_ms: TO_MS },
    startedAtMs: FROM_MS - 60_000,
    endedAtMs: null,
    fps: 60,
    clock: { offsetMs: -35, uncertaintyMs: 4, measuredAtMs: FROM_MS },
    series: Object.fromEntries(series),
    path: null,
    events: [],
    ...over,
  };
}

/** An event a second after the start of the window. */
export function traceEvent(
  source: TraceEventFacts['source'],
  type: string,
  payload: TraceEventFacts['payload'],
  ts_unix_ms = FROM_MS + 1_000,
): TraceEventFacts {
  return { source, type, payload, ts_unix_ms };
}

export const NETWORK = 'likely_network_congestion';
export const ENCODER = 'likely_encoder_saturation';
export const CLIENT = 'likely_client_presentation_limit';
export const HIDDEN = 'indeterminate_client_hidden';

export const LOST = 'transport.packets_lost';
export const RTT = 'transport.rtt_ms';
export const ENCODE = 'encoder.encode_ms_p95';
export const FPS = 'encoder.fps';
export const SIGMA = 'client.present_interval_sd_ms';
export const IS_HIDDEN = 'client.is_hidden';
export const LONG = 'client.present_long_frames';
export const BEAT = 'client.present_beat_fraction';

/** A quiet session with one of these four sets of values gets the verdict network, encoder, client or hidden. */
export const congested: WindowValues = { [LOST]: [0, 6], [RTT]: constant(51) };
export const saturated: WindowValues = { [ENCODE]: constant(16), [FPS]: constant(49) };
export const uneven: WindowValues = { [SIGMA]: constant(18, 2) };
export const hidden: WindowValues = { [IS_HIDDEN]: [0, 0, 1] };
