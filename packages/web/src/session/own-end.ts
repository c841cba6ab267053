import type { StreamView } from './use-stream.ts';

type Ended = Extract<StreamView['state'], { kind: 'ended' }>;

/** End reasons that the session's record also reports a moment later. The record has its own end page. */
const TOLD_BY_RECORD: ReadonlySet<Ended['reason']> = new Set([
  'session_ended',
  'host_lost',
  'idle_timeout',
  'disconnected',
]);

/** Whether the stream ended and its own end card is shown. */
export function hasOwnEnd(state: StreamView['state']): boolean {
  return state.kind === 'ended' && !TOLD_BY_RECORD.has(state.reason);
}
