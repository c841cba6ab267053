/**
 * Selects the evidence for a verdict: the samples of a window without the warm-up, their number, and the clock. Pure.
 * Source: docs/troubleshooting.md, "Verdicts".
 */
import { SECOND_MS } from '@footlight/platform';
import type { SessionVerdict } from '@footlight/protocol/rest';
import {
  type AGENT_SERIES,
  CLIENT_SERIES,
  type ClientSeriesName,
  type NetworkPath,
} from '@footlight/protocol/telemetry';

/**
 * Samples from the first seconds of a session are ignored, because they are not typical for the rest of it. Chosen, not
 * measured.
 */
const WARM_UP_MS = 20 * SECOND_MS;
/** With fewer samples there is no verdict. Chosen, not measured. */
const ENOUGH_SAMPLES = 3;
/**
 * Minimum tolerance for times that count as equal: a sample of an agent covers 5 s and one of a viewer 1 s, so smaller
 * differences mean nothing. Chosen, not measured.
 */
const MIN_TOLERANCE_MS = SECOND_MS;

export type SeriesName = keyof typeof AGENT_SERIES | ClientSeriesName;
export interface Point {
  /** Time on the host's clock, if the clocks were compared. */
  ts_unix_ms: number;
  v: number;
}

/**
 * The stored samples and events of a session, oldest first. Times of viewers are converted to the host's clock, if it
 * was measured.
 */
export interface VerdictFacts {
  /** Both ends are included. */
  window: { from_ms: number; to_ms: number };
  /** Time when the session first ran; null: it never ran, so there is no warm-up. */
  startedAtMs: number | null;
  /** Time when the session ended; null: it is live. */
  endedAtMs: number | null;
  /** Frame rate of the stream. */
  fps: number;
  /** Clock comparison; null: not measured. offsetMs: host time minus viewer time. */
  clock: { offsetMs: number; uncertaintyMs: number; measuredAtMs: number } | null;
  series: Readonly<Partial<Record<SeriesName, readonly Point[]>>>;
  /** Path of most samples of viewers; null: none reports its path. */
  path: NetworkPath | null;
  events: readonly TraceEventFacts[];
}
export interface TraceEventFacts {
  source: 'agent' | 'browser';
  ts_unix_ms: number;
  type: string;
  payload: Readonly<Record<string, unknown>>;
}

/** The part of the facts that a verdict uses, with the values that the answer shows. */
export interface Evidence {
  /** Points of a series within the window, without points of the warm-up if the series has one. */
  points(name: SeriesName): readonly Point[];
  events: readonly TraceEventFacts[];
  window: SessionVerdict['window'];
  clock: SessionVerdict['clock'];
  /** End of the warm-up; the start of the window if there is no warm-up. */
  warmUntilMs: number;
  tier: SessionVerdict['evidence_tier'];
  /**
   * Maximum time difference at which a sample of the host and one of the viewer count as simultaneous; null: the clocks
   * were not compared.
   */
  toleranceMs: number | null;
}

/** Encoders and pages start slowly, so points of these series count only after the warm-up. */
const WARMS_UP: ReadonlySet<SeriesName> = new Set<SeriesName>([
  'client.present_interval_sd_ms',
  'encoder.fps',
]);

export function evidenceOf({ window, startedAtMs, clock, series, events }: VerdictFacts): Evidence {
  const { from_ms, to_ms } = window;
  const warmUntilMs = startedAtMs === null ? from_ms : startedAtMs + WARM_UP_MS;
  const counted = new Map<SeriesName, readonly Point[]>();
  const points = (name: SeriesName): readonly Point[] => {
    const known = counted.get(name);
    if (known !== undefined) return known;
    const sinceMs = WARMS_UP.has(name) ? Math.max(from_ms, warmUntilMs) : from_ms;
    const found = (series[name] ?? []).filter((point) => isWithin(point, sinceMs, to_ms));
    counted.set(name, found);
    return found;
  };
  const nHost = points('encoder.fps').length;
  const nClient = new Set(clientSeries.flatMap((name) => points(name).map(({ ts_unix_ms }) => ts_unix_ms)))
    .size;
  return {
    points,
    events: events.filter((event) => isWithin(event, from_ms, to_ms)),
    window: {
      from_ms,
      to_ms,
      n_host: nHost,
      n_client: nClient,
      warmup_excluded_ms:
        startedAtMs === null ? 0 : Math.max(0, Math.min(to_ms, warmUntilMs) - Math.max(from_ms, startedAtMs)),
    },
    clock:
      clock === null
        ? { quality: 'unmeasured', applied: false }
        : {
            quality: 'measured',
            offset_ms: clock.offsetMs,
            uncertainty_ms: clock.uncertaintyMs,
            applied: true,
            age_ms: Math.max(0, to_ms - clock.measuredAtMs),
          },
    warmUntilMs,
    tier: tierOf(nHost >= ENOUGH_SAMPLES, nClient >= ENOUGH_SAMPLES, clock !== null),
    toleranceMs: clock === null ? null : Math.max(clock.uncertaintyMs, MIN_TOLERANCE_MS),
  };
}

const clientSeries = Object.keys(CLIENT_SERIES) as ClientSeriesName[];

const isWithin = ({ ts_unix_ms }: { ts_unix_ms: number }, fromMs: number, toMs: number): boolean =>
  ts_unix_ms >= fromMs && ts_unix_ms <= toMs;

function tierOf(host: boolean, client: boolean, measured: boolean): SessionVerdict['evidence_tier'] {
  if (host) return client && measured ? 'full' : 'host_only';
  return client ? 'client_only' : 'insufficient';
}
