import type { AgentSignaling, SessionMetrics, SessionTraceEvent } from '@footlight/protocol/agent';
import type { ReliableMessage } from '../../link/outbox.ts';

/** Messages of a session to the control plane; the link keeps the reliable ones. */
export interface SessionLink {
  report(message: ReliableMessage): number;
  event(event: SessionTraceEvent): void;
  metrics(sample: SessionMetrics): void;
  signaling(frame: AgentSignaling): void;
}
