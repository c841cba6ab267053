/** Events of a session for administrators. Pure. */
import type { Trace } from '@footlight/protocol/rest';
import type { AgentEventType, BrowserEventType } from '@footlight/protocol/telemetry';
import { bytesLabel } from '../../components/bytes-labels.ts';
import type { Tone } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { toldText } from '../frame/told-text.ts';

export type TraceEvent = Trace['events'][number];
type Payload = TraceEvent['payload'];

const WORDS: Readonly<Record<AgentEventType | BrowserEventType, string>> = {
  'session.effective_media': msg('Settings of the stream'),
  'caps.negotiated': msg('Picture format negotiated'),
  'sdp.answer_applied': msg('Answer of the viewer applied'),
  'encoder.stall': msg('Encoder stalled'),
  'host.xid': msg('Xid error of the GPU driver'),
  'host.gpu_fault': msg('Fault of the GPU'),
  'diag.pipeline_dot': msg('Capture: pipeline'),
  'diag.encoder_props': msg('Capture: encoder'),
  'diag.burst_stats': msg('Capture: frame by frame'),
  'diag.log_tail': msg('Capture: log'),
  'session.recording': msg('Recording'),
  'webrtc.state_changed': msg('Connection'),
  'webrtc.remote_description_failed': msg('Answer of the viewer failed'),
  'transport.peer_disconnected': msg('Viewer disconnected'),
  'abr.retarget': msg('Bitrate changed'),
  'encoder.drop_detected': msg('Encoder dropped frames'),
  'pipeline.source_swapped': msg('Another app'),
  'app.launch_state': msg('State of the app'),
  'app.exited': msg('App exited'),
  'display.name_taken': msg('App tried to access the displays of other apps'),
  'audio.degraded': msg('Sound degraded'),
  'agent.link_restored': msg('Host reconnected'),
  'agent.event_oversize': msg('Event was too large'),
  'operator.annotation': msg('Note'),
  'playout.changed': msg('Playout delay changed'),
  'client.freeze_detected': msg('Picture froze'),
  'client.visibility_changed': msg('Page hidden or shown'),
  'client.first_frame': msg('First picture'),
  'bench.window': msg('Bench'),
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
  if (type === 'encoder.stall' && payload.phase === 'recovered') return t('Encoder recovered');
  if (type === 'client.visibility_changed' && typeof payload.hidden === 'boolean')
    return payload.hidden ? t('Page hidden') : t('Page shown');
  return Object.hasOwn(WORDS, type) ? t(WORDS[type as AgentEventType]) : type;
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
        ? t('{ms} ms after the page was loaded', { ms: rounded(since_load_ms) })
        : t('{ms} ms after the launch', { ms: rounded(since_launch_ms) }),
      `${toldText(width)} × ${toldText(height)}`,
      ...(flat === true ? [t('of one colour')] : []),
    ].join(', '),
  'client.freeze_detected': ({ gap_ms }) =>
    typeof gap_ms === 'number' ? t('for {ms} ms', { ms: Math.round(gap_ms) }) : '',
  'client.visibility_changed': () => '',
  'encoder.stall': ({ phase, reason, since_ms, stalled_ms }) =>
    [
      toldText(reason).replaceAll('_', ' '),
      phase === 'recovered'
        ? t('after {ms} ms', { ms: toldText(stalled_ms) })
        : t('for {ms} ms already', { ms: toldText(since_ms) }),
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
