import { nonterminalStates } from '@footlight/protocol';
import type { SessionGuests } from '@footlight/protocol/agent';
import type { Insertable, Selectable } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type { SessionGuestsTable } from '../../platform/database/tables/sessions.ts';

export type GuestRow = Selectable<SessionGuestsTable>;

/** Guests whose links have neither ended nor expired, oldest first. */
export function loadGuests(db: Executor, sessionId: string, nowMs: number): Promise<GuestRow[]> {
  return db
    .selectFrom('session_guests')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/**
 * Locks the session, so that no other transaction adds guests to it meanwhile.
 * @returns false: the session was deleted
 */
export async function lockSessionOfGuests(tx: Tx, sessionId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', sessionId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Ends the expired links of a session, so that their slots are free. The session must be locked. */
export async function endExpired(tx: Tx, sessionId: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('session_guests')
    .set({ ended_at: nowMs })
    .where('session_id', '=', sessionId)
    .where('ended_at', 'is', null)
    .where('expires_at', '<=', nowMs)
    .execute();
}

export async function countLinks(db: Executor, sessionId: string): Promise<number> {
  const { links } = await db
    .selectFrom('session_guests')
    .select((guest) => guest.fn.countAll<number>().as('links'))
    .where('session_id', '=', sessionId)
    .executeTakeFirstOrThrow();
  return Number(links);
}

export async function insertGuest(tx: Tx, row: Insertable<SessionGuestsTable>): Promise<void> {
  await tx.insertInto('session_guests').values(row).execute();
}

/** Finds a guest of the session, also an ended one. @returns undefined: the session has never had this guest */
export function findGuest(db: Executor, sessionId: string, guestId: string): Promise<GuestRow | undefined> {
  return db
    .selectFrom('session_guests')
    .selectAll()
    .where('id', '=', guestId)
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
}

/** @returns false: the guest had already ended */
export async function endGuest(db: Executor, guestId: string, nowMs: number): Promise<boolean> {
  const row = await db
    .updateTable('session_guests')
    .set({ ended_at: nowMs })
    .where('id', '=', guestId)
    .where('ended_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Ends the links of all sessions. @returns the guests that were ended, with their sessions */
export function endAllGuests(db: Executor, nowMs: number): Promise<Pick<GuestRow, 'id' | 'session_id'>[]> {
  return db
    .updateTable('session_guests')
    .set({ ended_at: nowMs })
    .where('ended_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returning(['id', 'session_id'])
    .execute();
}

/** Stores that the host of these ended guests does not have them any more. */
export async function markEndsAcked(db: Executor, guestIds: readonly string[], nowMs: number): Promise<void> {
  if (guestIds.length === 0) return;
  await db.updateTable('session_guests').set({ end_acked_at: nowMs }).where('id', 'in', guestIds).execute();
}

/** Whether no replica stored a link of this host; also true for a deleted host. */
export async function isHostOffline(db: Executor, hostId: string): Promise<boolean> {
  const host = await db.selectFrom('hosts').select('status').where('id', '=', hostId).executeTakeFirst();
  return host === undefined || host.status === 'offline';
}

/** Sessions on connected hosts that may still have an ended guest; the session of the newest removal first. */
export async function sessionsWithEndsToSend(
  db: Executor,
  limit: number,
): Promise<{ id: string; host_id: string }[]> {
  return db
    .selectFrom('session_guests')
    .innerJoin('sessions', 'sessions.id', 'session_guests.session_id')
    .innerJoin('hosts', 'hosts.id', 'sessions.host_id')
    .select(['sessions.id', 'hosts.id as host_id'])
    .where('session_guests.ended_at', 'is not', null)
    .where('session_guests.end_acked_at', 'is', null)
    .where('sessions.state', 'in', nonterminalStates)
    .where('hosts.status', '!=', 'offline')
    .groupBy(['sessions.id', 'hosts.id'])
    .orderBy((eb) => eb.fn.max('session_guests.ended_at'), 'desc')
    .limit(limit)
    .execute();
}

/**
 * Stores the name of the guest with this secret.
 * @returns undefined: there is no such link, it has ended, its session has ended, or the owner's account is disabled
 */
export async function nameGuest(
  db: Executor,
  secretHash: string,
  name: string,
  nowMs: number,
): Promise<GuestRow | undefined> {
  return db
    .updateTable('session_guests')
    .set({ name })
    .where('secret_hash', '=', secretHash)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('sessions')
          .innerJoin('users', 'users.id', 'sessions.user_id')
          .select('sessions.id')
          .whereRef('sessions.id', '=', 'session_guests.session_id')
          .where('sessions.state', 'in', nonterminalStates)
          .where('users.disabled_at', 'is', null),
      ),
    )
    .returningAll()
    .executeTakeFirst();
}

/**
 * The list of guests for the host of a session.
 * @returns version grows with each new link and each end of a link; endsToAck: ids of ended guests that no acknowledged
 *   list has left out yet; null: the session has never had a link
 */
export async function loadGuestList(
  db: Executor,
  sessionId: string,
  nowMs: number,
): Promise<{ list: Pick<SessionGuests, 'version' | 'guests'>; endsToAck: string[] } | null> {
  // One statement, so that the version belongs to the guests.
  const rows = await db
    .selectFrom('session_guests')
    .select(['id', 'role', 'pad_index', 'expires_at', 'ended_at', 'end_acked_at'])
    .where('session_id', '=', sessionId)
    .orderBy('id')
    .execute();
  if (rows.length === 0) return null;
  const valid = rows.filter(({ ended_at, expires_at }) => ended_at === null && expires_at > nowMs);
  const ended = rows.filter(({ ended_at }) => ended_at !== null);
  return {
    list: {
      version: rows.length + ended.length,
      guests: valid.map(({ id, role, pad_index, expires_at }) => ({
        id,
        role,
        pad_index,
        ends_in_ms: expires_at - nowMs,
      })),
    },
    endsToAck: ended.filter(({ end_acked_at }) => end_acked_at === null).map(({ id }) => id),
  };
}

/** Returns the given sessions that have links or had links. */
export async function sessionsWithGuests(db: Executor, sessionIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('session_guests')
    .select('session_id')
    .distinct()
    .where('session_id', 'in', sessionIds)
    .execute();
  return rows.map(({ session_id }) => session_id);
}
