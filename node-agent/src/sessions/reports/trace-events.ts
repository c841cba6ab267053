import type { Clock } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import { maxEventPayloadBytes, type SessionTraceEvent } from '@footlight/protocol/agent';
import { type AgentEventType, isReliableEvent } from '@footlight/protocol/telemetry';
import type { SessionLink } from './session-link.ts';

/** Sends a session's trace events as reliable or lossy messages, depending on their type, and limits their size. */
export class TraceEvents {
  readonly #sessionId: string;
  readonly #link: Pick<SessionLink, 'report' | 'event'>;
  readonly #clock: Clock;

  constructor(sessionId: string, link: Pick<SessionLink, 'report' | 'event'>, clock: Clock) {
    this.#sessionId = sessionId;
    this.#link = link;
    this.#clock = clock;
  }

  /** @param ts time of the event, epoch milliseconds; default: now */
  send(event: AgentEventType, payload: JsonObject, ts = this.#clock.nowMs()): void {
    const message = bounded({ type: 'session_trace_event', session_id: this.#sessionId, ts, event, payload });
    if (isReliableEvent(message.event)) this.#link.report(message);
    else this.#link.event(message);
  }
}

/** Returns the event, or, if it is too large, a notice in its place. */
function bounded(message: SessionTraceEvent): SessionTraceEvent {
  const bytes = Buffer.byteLength(JSON.stringify(message.payload));
  if (bytes <= maxEventPayloadBytes(message.event)) return message;
  return { ...message, event: 'agent.event_oversize', payload: { event: message.event, bytes } };
}
