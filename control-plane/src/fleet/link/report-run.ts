import { isTerminal } from '@footlight/protocol';
import type { AgentMessage, Capacity } from '@footlight/protocol/agent';

export type ReportMessage = Extract<
  AgentMessage,
  { type: 'session_state' | 'session_trace_event' | 'image_state' }
>;
export type CapacityMessage = Capacity & {
  /** The report equals the last capacity of this connection. */
  isRepeated: boolean;
};
/** Messages that are handled in order, because they change records or are confirmed by number. */
export type OrderedMessage = ReportMessage | CapacityMessage;

/** Maximum messages per write, so that other writes do not wait noticeably. */
const MAX_RUN = 64;

/**
 * Number of an agent's queued messages that share one write and one confirmation. A capacity report can only be the
 * first message of a run. The end of a session is a run of its own, because it locks more rows and must be confirmed
 * immediately.
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
