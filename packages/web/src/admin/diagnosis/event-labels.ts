/** Events of a session for administrators. Pure. */
import type { Trace } from '@footlight/protocol/rest';
import type { AgentEventType, BrowserEventType } from '@footlight/protocol/telemetry';
import type { Tone } from '../../components/state-chip.tsx';
import { bytesLabel } from '../../i18n/bytes-labels.ts';
import { toldText } from '../frame/told-text.ts';

export type TraceEvent = Trace['events'][number];
type Payload = TraceEvent['payload'];

const WORDS: Readonly<Record<AgentEventType | BrowserEventType, string>> = {
  'session.effective_media': 'Settings of the stream',
  'caps.negotiated': 'Picture format negotiated',
  'sdp.answer_applied': 'Answer of the viewer applied',
  'encoder.stall': 'Encoder stalled',
  'host.xid': 'Xid error of the GPU driver',
  'host.gpu_fault': 'Fault of the GPU',
  'diag.pipeline_dot': 'Capture: pipeline',
  'diag.encoder_props': 'Capture: encoder',
  'diag.burst_stats': 'Capture: frame by frame',
  'diag.log_tail': 'Capture: log',
  'session.recording': 'Recording',
  'webrtc.state_changed': 'Connection',
  'webrtc.remote_description_failed': 'Answer of the viewer failed',
  'transport.peer_disconnected': 'Viewer disconnected',
  'abr.retarget': 'Bitrate changed',
  'encoder.drop_detected': 'Encoder dropped frames',
  'pipeline.source_swapped': 'Another app',
  'app.launch_state': 'State of the app',
  'app.exited': 'App exited',
  'display.name_taken': 'App tried to access the displays of other apps',
  'audio.degraded': 'Sound degraded',
  'agent.link_restored': 'Host reconnected',
  'agent.event_oversize': 'Event was too large',
  'operator.annotation': 'Note',
  'playout.changed': 'Playout delay changed',
  'client.freeze_detected': 'Picture froze',
  'client.visibility_changed': 'Page hidden or shown',
  'client.first_frame': 'First picture',
  'bench.window': 'Bench',
};

const TONES: Readonly<Record<string, Tone>> = {
  'encoder.stall': 'danger',
  'host.xid': 'danger',
  'host.gpu_fault': 'danger',
  'webrtc.remote_description_failed': 'danger',
  'transport.peer_disconnected': 'warning',
  'encoder.drop_detected': 'warning',
  'audio.degraded': 'warning',
  'client.freeze_detected': 'warning',
  'abr.retarget': 'warning',
  'client.first_frame': 'success',
  'operator.annotation': 'info',
};

/** Longest detail in a row, in characters. The payload of a capture has hundreds of kilobytes. */
const MAX_DETAIL = 160;

/** A newer agent may report types without a label in this page; such a type is shown unchanged. */
export const eventLabel = ({ type, payload }: TraceEvent): string => {
  if (type === 'encoder.stall' && payload.phase === 'recovered') return 'Encoder recovered';
  if (type === 'client.visibility_changed' && typeof payload.hidden === 'boolean')
    return payload.hidden ? 'Page hidden' : 'Page shown';
  return Object.hasOwn(WORDS, type) ? WORDS[type as AgentEventType] : type;
};

/** Severity of an event. */
export function toneOf({ type, payload }: TraceEvent): Tone {
  if (type === 'encoder.stall' && payload.phase === 'recovered') return 'neutral';
  const { from_kbps, to_kbps } = payload;
  if (type === 'abr.retarget' && typeof to_kbps === 'number' && typeof from_kbps === 'number')
    return to_kbps >= from_kbps ? 'neutral' : 'warning';
  return Object.hasOwn(TONES, type) ? (TONES[type] ?? 'neutral') : 'neutral';
}

const rounded = (value: unknown): string => (typeof value === 'number' ? String(Math.round(value)) : '–');
const tagsOf = ({ tags }: Payload): string => (Array.isArray(tags) ? tags.map(toldText).join(', ') : '');

const DETAILS: Readonly<Record<string, (payload: Payload) => string>> = {
  'operator.annotation': (payload) =>
    [toldText(payload.label), tagsOf(payload)].filter((each) => each !== '').join(' · '),
  'abr.retarget': ({ from_kbps, to_kbps, reason }) =>
    `${toldText(from_kbps)} → ${toldText(to_kbps)} kbit/s, ${toldText(reason).replaceAll('_', ' ')}`,
  'playout.changed': ({ from_ms, to_ms }) => `${rounded(from_ms)} → ${rounded(to_ms)} ms`,
  'client.first_frame': ({ since_launch_ms, since_load_ms, width, height, flat }) =>
    [
      since_launch_ms === undefined
        ? `${rounded(since_load_ms)} ms after the page was loaded`
        : `${rounded(since_launch_ms)} ms after the launch`,
      `${toldText(width)} × ${toldText(height)}`,
      ...(flat === true ? ['of one colour'] : []),
    ].join(', '),
  'client.freeze_detected': ({ gap_ms }) =>
    typeof gap_ms === 'number' ? `for ${Math.round(gap_ms)} ms` : '',
  'client.visibility_changed': () => '',
  'encoder.stall': ({ phase, reason, since_ms, stalled_ms }) =>
    [
      toldText(reason).replaceAll('_', ' '),
      phase === 'recovered' ? `after ${toldText(stalled_ms)} ms` : `for ${toldText(since_ms)} ms already`,
    ].join(', '),
  'session.recording': ({ state, duration_ms, bytes, error }) =>
    state === 'ready' && typeof duration_ms === 'number' && typeof bytes === 'number'
      ? `${Math.round(duration_ms / 1_000)} s, ${bytesLabel(bytes)}`
      : toldText(error),
  'webrtc.state_changed': ({ kind, from, to }) => `${toldText(kind)}: ${toldText(from)} → ${toldText(to)}`,
};

/** The details of an event, in one line. */
export function detailLabel({ type, payload }: TraceEvent): string {
  if (type.startsWith('diag.')) return typeof payload.error === 'string' ? payload.error : '';
  const known = Object.hasOwn(DETAILS, type) ? DETAILS[type] : undefined;
  const label =
    known?.(payload) ??
    Object.entries(payload)
      .filter(([, value]) => value !== null && typeof value !== 'object')
      .map(([key, value]) => `${key.replaceAll('_', ' ')} ${toldText(value)}`)
      .join(', ');
  return label.length > MAX_DETAIL ? `${label.slice(0, MAX_DETAIL)}…` : label;
}
