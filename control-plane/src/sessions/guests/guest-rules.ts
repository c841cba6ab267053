/** Decides who may share a session, with which gamepad and slot, and who may join it. Pure. */
import { type GuestRole, MAX_GUESTS } from '@footlight/protocol/guests';
import { MAX_PADS } from '@footlight/protocol/input';
import type { Caller } from '../../platform/http/message/contract.ts';
import { judgeJoin } from '../access/join-rules.ts';
import type { Refusal } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';

/** Largest number of links that a session can have in all, because the ended ones stay stored with the session. */
export const MAX_LINKS_IN_ALL = 64;

/** Feature of agents that know guests. */
export const GUESTS_FEATURE = 'guests';

/** Whether the caller may make a link for a session: only the owner may, and only while the session runs. */
export function judgeShare(
  caller: Pick<Caller, 'userId' | 'role'>,
  session: Pick<SessionRow, 'user_id' | 'video_topology' | 'state'> | undefined,
): Refusal | null {
  // Ownership is checked first, so that strangers do not learn the state.
  const refusal = judgeJoin(caller, session && { ...session, state: 'running' });
  if (refusal !== null || session === undefined) return refusal;
  return session.state === 'running' ? null : { code: 'session_not_running' };
}

export interface UsedPlace {
  slot: number;
  pad_index: number | null;
}

/**
 * Place of a new guest: the first free slot, and for the role gamepad the first free gamepad.
 * @param used places of the guests who have not ended
 * @param linksInAll number of the session's links, with those that have ended
 */
export function planPlace(
  role: GuestRole,
  used: readonly UsedPlace[],
  linksInAll: number,
): UsedPlace | { refusal: Refusal } {
  const slots = Array.from({ length: MAX_GUESTS }, (_, index) => index + 1);
  const slot = slots.find((free) => used.every((place) => place.slot !== free));
  if (slot === undefined || linksInAll >= MAX_LINKS_IN_ALL) return { refusal: { code: 'too_many_guests' } };
  if (role !== 'gamepad') return { slot, pad_index: null };
  // The owner uses the first gamepad, so it is given away last.
  const pads = [...Array.from({ length: MAX_PADS - 1 }, (_, index) => index + 1), 0];
  const pad_index = pads.find((free) => used.every((place) => place.pad_index !== free)) ?? 0;
  return { slot, pad_index };
}
