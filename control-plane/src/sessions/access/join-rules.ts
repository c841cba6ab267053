/** Decides who may read a session and who may watch it. Pure. Source: docs/sessions.md. */
import type { SessionStateName } from '@footlight/protocol';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Refusal } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';

type Person = Pick<Caller, 'userId' | 'role'>;

/**
 * A session in these states has a picture or will soon have one. A pending session has no host, and a stopping session
 * is about to end.
 */
const JOINABLE: readonly SessionStateName[] = ['assigned', 'starting', 'running'];

export const UNKNOWN_SESSION: Refusal = { code: 'not_found', message: 'There is no such session.' };
const NOT_YOURS: Refusal = { code: 'forbidden', message: 'This session is not yours.' };

/**
 * Whether the caller may read and stop a session: the owner and administrators may.
 * @param session undefined: the id is unknown. Only administrators may find out which ids exist.
 */
export function judgeRead(caller: Person, session: Pick<SessionRow, 'user_id'> | undefined): Refusal | null {
  if (session === undefined) return caller.role === 'admin' ? UNKNOWN_SESSION : NOT_YOURS;
  return caller.role === 'admin' || session.user_id === caller.userId ? null : NOT_YOURS;
}

/** Whether the caller may watch a session: only the owner may, and only while the session is streamed. */
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
