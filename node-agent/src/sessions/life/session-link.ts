import type { AgentSignaling, SessionMetrics, SessionTraceEvent } from '@footlight/protocol/agent';
import type { ReliableMessage } from '../../link/outbox.ts';

/** What a session says to the control plane; the link keeps what must arrive. */
export interface SessionLink {
  report(message: ReliableMessage): number;
  event(event: SessionTraceEvent): void;
  metrics(sample: SessionMetrics): void;
  signaling(frame: AgentSignaling): void;
}
