import type { StreamView } from './use-stream.ts';

type Ended = Extract<StreamView['state'], { kind: 'ended' }>;

/** The session's record reports its end a moment later, which has its own page. */
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
