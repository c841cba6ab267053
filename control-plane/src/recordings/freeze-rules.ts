import { MINUTE_MS } from '@footlight/platform';
import { FAILED_RING_KEPT_MS } from '@footlight/protocol/agent';
import type { ErrorCode } from '@footlight/protocol/rest';
import type { CommandResult } from '../fleet/index.ts';
import type { SessionRecordingsTable } from '../platform/database/tables/recordings.ts';
import type { RecordableSession } from './store.ts';

/**
 * Maximum recordings of one session that have not expired. With 64 MiB each they need 2 GiB on the session's host.
 * Chosen, not measured.
 */
export const MAX_OF_SESSION = 32;
/** A host that has not answered after this time will not answer: its process ended and lost the command. */
const PENDING_LIMIT_MS = 10 * MINUTE_MS;

type Refusal = { code: ErrorCode; message?: string } | null;

/**
 * Whether the last minute of a session can be recorded now, judged only by the control plane's data. Pure. Source:
 * docs/recordings.md, "Keep a recording".
 */
export function judgeFreeze(session: RecordableSession, recordings: number, nowMs: number): Refusal {
  const failedLately =
    session.state === 'failed' && session.ended_at !== null && nowMs - session.ended_at < FAILED_RING_KEPT_MS;
  const isHeld = session.state === 'running' || session.state === 'stopping' || failedLately;
  if (!isHeld || session.host_id === null) return { code: 'session_not_running' };
  if (session.stream_recording === 0) return { code: 'conflict', message: 'This session is not recorded.' };
  if (recordings >= MAX_OF_SESSION)
    return { code: 'conflict', message: `This session has ${MAX_OF_SESSION} recordings already.` };
  return null;
}

/**
 * Converts a host's answer to a freeze or an upload command into a refusal; null: the host accepted the command. Pure.
 */
export function refusalOfHost(result: CommandResult): Refusal {
  if (result.kind === 'ok') return null;
  if (result.kind !== 'refused') return { code: 'agent_not_connected' };
  switch (result.code) {
    case 'no_such_session':
      return { code: 'session_not_running' };
    case 'no_such_recording':
      return { code: 'not_found', message: 'The host has this recording no more.' };
    case 'unsupported':
      return { code: 'conflict', message: 'This session is not recorded.' };
    case 'busy':
      return { code: 'conflict', message: 'The host is busy with a recording; try again in a moment.' };
    // An agent without a recorder does not know the command.
    case 'unknown_command':
      return { code: 'agent_not_connected' };
    default:
      return { code: 'conflict' };
  }
}

/** Whether the host may have begun the requested work despite this result. Pure. */
export function mayHaveBegun(result: CommandResult): boolean {
  return (
    result.kind === 'ok' || result.kind === 'timeout' || (result.kind === 'not_connected' && result.sent)
  );
}

/** The state that is shown to people. A recording that has been pending for too long counts as failed. Pure. */
export function stateAt(
  { state, created_at, error }: Pick<SessionRecordingsTable, 'state' | 'created_at' | 'error'>,
  nowMs: number,
): Pick<SessionRecordingsTable, 'state' | 'error'> {
  return state === 'pending' && nowMs - created_at >= PENDING_LIMIT_MS
    ? { state: 'failed', error: 'The host said nothing about it.' }
    : { state, error };
}
