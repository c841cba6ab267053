/**
 * Reads the fields of posted capabilities that the server uses. Pure; never throws. Every field is optional, and a
 * value of the wrong type counts as not measured.
 * Source: docs/people.md, "What a device measured".
 */

import { DAY_MS } from '@footlight/platform';
import { type JsonObject, objectOrEmpty } from '@footlight/protocol';

/** Older measurements do not count, because networks and screens change. */
export const PROBE_LIFETIME_MS = 30 * DAY_MS;
/** A lower bandwidth is a measurement error. */
const MIN_MEASURED_KBPS = 100;
/** No display is faster; a higher value is a measurement error. */
const MAX_REFRESH_HZ = 1000;

/** A valid measurement. A null field was not measured. */
export interface ProbeFacts {
  /** Anything but "native" is a browser. */
  client_type: 'web' | 'native';
  bandwidth_kbps: number | null;
  rtt_ms: number | null;
  max_decode_height: number | null;
  /** Decodable codecs as the client declared them. H.264 is always decodable and therefore not listed. */
  codecs: { hevc: boolean; av1: boolean };
  display_refresh_hz: number | null;
  /** H.264 profiles of the client's decoder. */
  h264_profiles: readonly string[] | null;
}

/** missing: the device was never measured. stale: the measurement is older than PROBE_LIFETIME_MS. */
export type Probe =
  | { kind: 'missing' }
  | { kind: 'stale'; measuredAtMs: number }
  | { kind: 'fresh'; measuredAtMs: number; facts: ProbeFacts };

/**
 * @param capabilities of one device, as stored
 * @param nowMs epoch milliseconds
 */
export function readProbe(capabilities: JsonObject, nowMs: number): Probe {
  const { measured_at } = capabilities;
  const measuredAtMs = typeof measured_at === 'string' ? Date.parse(measured_at) : Number.NaN;
  if (Number.isNaN(measuredAtMs)) return { kind: 'missing' };
  if (nowMs - measuredAtMs > PROBE_LIFETIME_MS) return { kind: 'stale', measuredAtMs };
  return { kind: 'fresh', measuredAtMs, facts: readFacts(capabilities) };
}

function readFacts(capabilities: JsonObject): ProbeFacts {
  const codecs = objectOrEmpty(capabilities.codecs);
  const bandwidth_kbps = finite(capabilities.bandwidth_kbps);
  const refresh_hz = finite(objectOrEmpty(capabilities.display).refresh_hz);
  return {
    client_type: capabilities.client_type === 'native' ? 'native' : 'web',
    bandwidth_kbps: bandwidth_kbps !== null && bandwidth_kbps >= MIN_MEASURED_KBPS ? bandwidth_kbps : null,
    rtt_ms: finite(capabilities.rtt_ms),
    max_decode_height: finite(capabilities.max_decode_height),
    codecs: { hevc: codecs.hevc === true, av1: codecs.av1 === true },
    display_refresh_hz:
      refresh_hz !== null && refresh_hz > 0 && refresh_hz <= MAX_REFRESH_HZ ? refresh_hz : null,
    h264_profiles: strings(objectOrEmpty(objectOrEmpty(capabilities.decode).h264).profiles),
  };
}

const finite = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

const strings = (value: unknown): string[] | null =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : null;
