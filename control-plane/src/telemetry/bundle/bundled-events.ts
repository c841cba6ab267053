/**
 * Selects the fields of an event that a diagnostic bundle contains: the known fields of its type. Hosts and viewers may
 * send any object as an event, and people send bundles to others, so other fields are left out and texts are masked.
 * Pure. Source: docs/recordings.md.
 */
import { maskSecrets } from '@footlight/platform';
import { cutUtf8, isJsonObject, type JsonObject } from '@footlight/protocol';
import type { AgentEventType, BrowserEventType } from '@footlight/protocol/telemetry';

/** Longest text of a field, bytes; the longest known text, the caps of a GStreamer pad, has 400. */
const MAX_TEXT_BYTES = 1_024;

/**
 * plain: number, boolean, null, text or a list of texts. Otherwise: the fields of an object, or of each object in a
 * list.
 */
type Field = 'plain' | { readonly [name: string]: 'plain' };
type Fields = { readonly [name: string]: Field };

const plain = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, 'plain'])) as Record<Name, 'plain'>;

const MEDIA = plain('codec', 'profile', 'encoder', 'width', 'height', 'fps', 'bitrate_kbps', 'channels');

/** Fields by type. Results of captures are not here, because the bundle has its own list of captures. */
const FIELDS: { readonly [Type in AgentEventType | BrowserEventType]: Fields } = {
  'session.effective_media': {
    configured: MEDIA,
    resolved: MEDIA,
    actual: MEDIA,
    audio: MEDIA,
    ...plain('mic'),
  },
  'caps.negotiated': {
    ...plain('trigger', 'encoder_factory', 'codec', 'profile', 'level'),
    ...plain('encoder_sink_caps', 'encoder_src_caps', 'payloader_src_caps'),
    size: plain('w', 'h', 'fps'),
  },
  'sdp.answer_applied': {
    ...plain('pc', 'rejected_count', 'ice_ufrag_changed'),
    m_lines: plain('mid', 'kind', 'codec', 'port', 'direction', 'rejected'),
  },
  'encoder.stall': plain('phase', 'reason', 'since_ms', 'stalled_ms'),
  'host.xid': plain('code', 'pci', 'pid', 'name', 'text', 'ts_unix_ms'),
  'host.gpu_fault': plain('vendor', 'text', 'ts_unix_ms'),
  'diag.pipeline_dot': plain('capture_id', 'kind', 'truncated', 'duration_ms', 'error'),
  'diag.encoder_props': plain('capture_id', 'kind', 'truncated', 'duration_ms', 'error'),
  'diag.burst_stats': plain('capture_id', 'kind', 'truncated', 'duration_ms', 'error'),
  'diag.log_tail': plain('capture_id', 'kind', 'truncated', 'duration_ms', 'error'),
  'session.recording': plain('recording_id', 'state', 'bytes', 'duration_ms', 'error'),
  'webrtc.state_changed': plain('kind', 'from', 'to', 'pc'),
  'webrtc.remote_description_failed': plain('pc', 'reason', 'kind', 'benign'),
  'transport.peer_disconnected': plain('error', 'debug'),
  'abr.retarget': plain('from_kbps', 'to_kbps', 'reason'),
  'encoder.drop_detected': plain('frames_dropped', 'window_ms'),
  'pipeline.source_swapped': plain('from_app', 'to_app'),
  'app.launch_state': plain('state', 'appid'),
  'app.exited': plain('status', 'policy'),
  'display.name_taken': plain('first', 'count'),
  'audio.degraded': plain('reason', 'required'),
  'agent.link_restored': plain('down_ms'),
  'agent.event_oversize': plain('event', 'bytes'),
  'operator.annotation': plain('label', 'tags'),
  'playout.changed': plain('from_ms', 'to_ms', 'reason'),
  'client.freeze_detected': plain('gap_ms', 'is_hidden'),
  'client.visibility_changed': plain('hidden'),
  'client.first_frame': plain(
    'since_load_ms',
    'since_offer_ms',
    'since_launch_ms',
    'width',
    'height',
    'flat',
  ),
  'bench.window': {},
};

/** @returns the event's payload with its known fields; {} for a type that this version does not know */
export function bundledPayload(type: string, payload: JsonObject): JsonObject {
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type as keyof typeof FIELDS] : {};
  return pick(payload, fields);
}

function pick(from: JsonObject, fields: Fields): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const kept = Object.hasOwn(from, name) ? keep(from[name], field) : undefined;
      return kept === undefined ? [] : [[name, kept]];
    }),
  );
}

/** @returns undefined: the value has another form */
function keep(value: unknown, field: Field): unknown {
  if (field !== 'plain') {
    if (Array.isArray(value)) return value.filter(isJsonObject).map((item) => pick(item, field));
    return isJsonObject(value) ? pick(value, field) : value === null ? null : undefined;
  }
  if (typeof value === 'string') return cutUtf8(maskSecrets(value), MAX_TEXT_BYTES);
  if (Array.isArray(value))
    return value.filter((item) => typeof item === 'string').map((item) => keep(item, 'plain'));
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}
