/** Who may see a session, and who may open its picture. Pure. Source: docs/sessions.md. */
import type { SessionStateName } from '@footlight/protocol';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Refusal } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';

type Person = Pick<Caller, 'userId' | 'role'>;

/** The picture of these states is on its way or shown; a queued session has no host, and stopping ones end. */
const JOINABLE: readonly SessionStateName[] = ['assigned', 'starting', 'running'];

export const UNKNOWN_SESSION: Refusal = { code: 'not_found', message: 'There is no such session.' };
const NOT_YOURS: Refusal = { code: 'forbidden', message: 'This session is not yours.' };

/**
 * Whether the caller may read and stop a session: the owner and administrators may.
 * @param session undefined: unknown. Only administrators learn which ids exist.
 */
export function judgeRead(caller: Person, session: Pick<SessionRow, 'user_id'> | undefined): Refusal | null {
  if (session === undefined) return caller.role === 'admin' ? UNKNOWN_SESSION : NOT_YOURS;
  return caller.role === 'admin' || session.user_id === caller.userId ? null : NOT_YOURS;
}

/** Whether the caller may watch a session: only the owner, while it is streamed. */
export function judgeJoin(
  caller: Person,
  session: Pick<SessionRow, 'user_id' | 'video_topology' | 'state'> | undefined,
): Refusal | null {
  const refusal = judgeRead(caller, session);
  if (refusal !== null || session === undefined) return refusal;
  if (session.user_id !== caller.userId) return NOT_YOURS;
  if (session.video_topology === 'local_only')
    return {
      code: 'conflict',
      message: 'This session is shown only on the display attached to its host, and not streamed.',
    };
  if (!JOINABLE.includes(session.state))
    return { code: 'conflict', message: 'This session cannot be joined any more.' };
  return null;
}
