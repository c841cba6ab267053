import type { AgentSignaling, SessionMetrics, SessionTraceEvent } from '@footlight/protocol/agent';
import type { ReliableMessage } from '../../link/outbox.ts';

/** Sends messages of a session to the control plane. The link stores reliable messages until they are confirmed. */
export interface SessionLink {
  report(message: ReliableMessage): number;
  event(event: SessionTraceEvent): void;
  metrics(sample: SessionMetrics): void;
  signaling(frame: AgentSignaling): void;
}
