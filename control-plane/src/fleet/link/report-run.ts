import type { AgentMessage, Capacity } from '@footlight/protocol/agent';

export type ReportMessage = Extract<
  AgentMessage,
  { type: 'session_state' | 'session_trace_event' | 'image_state' }
>;
export type CapacityMessage = Capacity & {
  /** Word for word what this connection said last. */
  isRepeated: boolean;
};
/** Handled in order: what changes records, and what is confirmed by its number. */
export type OrderedMessage = ReportMessage | CapacityMessage;

/** More than this in one write would keep others waiting noticeably long. */
const MAX_RUN = 64;

/**
 * How many of the waiting messages of an agent are handled together: one write, and one confirmation of all. A run may
 * begin with a capacity. The end of a session stands alone: it holds more than the session's own row, and is confirmed
 * at once.
 * @param waiting oldest first, at least one
 */
export function lengthOfRun(waiting: readonly { message: OrderedMessage }[]): number {
  const end = waiting.findIndex(
    ({ message }, n) => n === MAX_RUN || isEnd(message) || (n > 0 && message.type === 'capacity'),
  );
  return end === -1 ? waiting.length : Math.max(1, end);
}

function isEnd(message: OrderedMessage): boolean {
  return message.type === 'session_state' && isFinal(message.state);
}

const isFinal = (state: string): boolean => state === 'stopped' || state === 'failed';
