import { isTerminal } from '@footlight/protocol';
import type { AgentMessage, Capacity } from '@footlight/protocol/agent';

export type ReportMessage = Extract<
  AgentMessage,
  { type: 'session_state' | 'session_trace_event' | 'image_state' }
>;
export type CapacityMessage = Capacity & {
  /** Equal to this connection's last capacity. */
  isRepeated: boolean;
};
/** Messages handled in order: they change records or are confirmed by number. */
export type OrderedMessage = ReportMessage | CapacityMessage;

/** Most messages of one write, so that other writes do not wait noticeably. */
const MAX_RUN = 64;

/**
 * Number of an agent's queued messages that share one write and one confirmation. A run may start with a capacity.
 * The end of a session forms its own run, because it locks more rows and is confirmed at once.
 * @param waiting oldest first, at least one
 */
export function lengthOfRun(waiting: readonly { message: OrderedMessage }[]): number {
  const end = waiting.findIndex(
    ({ message }, n) => n === MAX_RUN || isEnd(message) || (n > 0 && message.type === 'capacity'),
  );
  return end === -1 ? waiting.length : Math.max(1, end);
}

function isEnd(message: OrderedMessage): boolean {
  return message.type === 'session_state' && isTerminal(message.state);
}
