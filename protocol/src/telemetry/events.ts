/** Names of trace events. The agent's list is open for new names, the browser's is closed. */

/** A note that an administrator wrote. Only the service creates this event, so that a host cannot forge a note. */
export const OPERATOR_EVENT = 'operator.annotation';

export const AGENT_EVENT_TYPES = [
  'session.effective_media',
  'caps.negotiated',
  'sdp.answer_applied',
  'encoder.stall',
  'host.xid',
  'host.gpu_fault',
  'diag.pipeline_dot',
  'diag.encoder_props',
  'diag.burst_stats',
  'diag.log_tail',
  'session.recording',
  'webrtc.state_changed',
  'webrtc.remote_description_failed',
  'transport.peer_disconnected',
  'abr.retarget',
  'encoder.drop_detected',
  'pipeline.source_swapped',
  'app.launch_state',
  'app.exited',
  'display.name_taken',
  'audio.degraded',
  'agent.link_restored',
  'agent.event_oversize',
  OPERATOR_EVENT,
  'playout.changed',
] as const;
export type AgentEventType = (typeof AGENT_EVENT_TYPES)[number];

export const BROWSER_EVENT_TYPES = [
  'playout.changed',
  'client.freeze_detected',
  'client.visibility_changed',
  'client.first_frame',
  'webrtc.state_changed',
  'bench.window',
] as const;
export type BrowserEventType = (typeof BROWSER_EVENT_TYPES)[number];

const RELIABLE: ReadonlySet<string> = new Set<string>([
  'session.effective_media',
  'caps.negotiated',
  'sdp.answer_applied',
  'encoder.stall',
  'host.xid',
  'host.gpu_fault',
  'session.recording',
]);

/** Largest number of lossy events queued per session: 25 s at the 10 events a second that a media worker may send. */
export const LOSSY_EVENTS_PER_SESSION = 256;

/**
 * Whether an event is sent as a reliable message, which has a seq and is sent again until the control plane confirms
 * it.
 */
export function isReliableEvent(event: string): boolean {
  return RELIABLE.has(event) || event.startsWith('diag.');
}

/** Whether a browser may report an event of this type. */
export function isBrowserEvent(event: string): event is BrowserEventType {
  return (BROWSER_EVENT_TYPES as readonly string[]).includes(event);
}
