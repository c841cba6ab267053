/** Queries for the list of homes, for marking homes, and for their deletion. */
import { nonterminalStates, quotaStates } from '@footlight/protocol';
import type { DueHome } from '@footlight/protocol/agent';
import { type ExpressionBuilder, sql } from 'kysely';
import type { Executor, Schema, Tx } from '../platform/database/index.ts';
import type { StorageHomesTable } from '../platform/database/tables/sessions.ts';
import { isAfter, type PageKey } from '../platform/page-cursor.ts';

/** A home with the names of its user, app and host. A name is null if that object was deleted. */
export interface ListedHome extends StorageHomesTable {
  username: string | null;
  app_name: string | null;
  host_name: string | null;
}

export interface HomeFilter {
  user_id?: string | undefined;
  app_id?: string | undefined;
  /** true: only marked homes; false: only homes that are not marked. */
  pending_gc?: boolean | undefined;
}

const selectListed = (db: Executor) =>
  db
    .selectFrom('storage_homes')
    .leftJoin('users', 'users.id', 'storage_homes.user_id')
    .leftJoin('apps', 'apps.id', 'storage_homes.app_id')
    .leftJoin('hosts', 'hosts.id', 'storage_homes.host_id')
    .selectAll('storage_homes')
    .select(['users.username', 'apps.name as app_name', 'hosts.node_name as host_name']);

/** Newest first. @param after last row of the previous page; @returns up to limit + 1 rows */
export function listHomes(
  db: Executor,
  filter: HomeFilter,
  after: PageKey | null,
  limit: number,
): Promise<ListedHome[]> {
  let query = selectListed(db);
  if (filter.user_id !== undefined) query = query.where('storage_homes.user_id', '=', filter.user_id);
  if (filter.app_id !== undefined) query = query.where('storage_homes.app_id', '=', filter.app_id);
  if (filter.pending_gc !== undefined)
    query = query.where('storage_homes.gc_after', filter.pending_gc ? 'is not' : 'is', null);
  if (after !== null) query = query.where(isAfter('storage_homes', after));
  return query
    .orderBy('storage_homes.created_at', 'desc')
    .orderBy('storage_homes.id', 'desc')
    .limit(limit + 1)
    .execute();
}

/** Reads a home with the names of its user, app and host, and locks the home until the transaction ends. */
export async function lockListedHome(tx: Tx, id: string): Promise<ListedHome | undefined> {
  // Locked separately, because the outer side of a join cannot be locked.
  const locked = await tx
    .selectFrom('storage_homes')
    .select('id')
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (locked === undefined) return undefined;
  return selectListed(tx).where('storage_homes.id', '=', id).executeTakeFirst();
}

/** Marks a home for deletion. An earlier mark stays, because a second call must not postpone the deletion. */
export async function markHome(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const result = await tx
    .updateTable('storage_homes')
    .set({ gc_after: nowMs })
    .where('id', '=', id)
    .where('gc_after', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

const literal = (states: readonly string[]) => sql.raw(states.map((state) => `'${state}'`).join(', '));

/**
 * Sessions that use a home: sessions of its owner on its host that use the home of its app, now or after a pending
 * swap. A session of a tile uses the home of the tile's parent, so it is found too.
 */
const usersOf = (states: readonly string[]) => (eb: ExpressionBuilder<Schema, 'storage_homes'>) =>
  eb
    .selectFrom('sessions')
    .select('sessions.id')
    .whereRef('sessions.user_id', '=', 'storage_homes.user_id')
    .whereRef('sessions.host_id', '=', 'storage_homes.host_id')
    // Literals, because the partial index of live sessions is used only for queries that contain its states.
    .where(sql<boolean>`sessions.state in (${literal(states)})`)
    .where((session) =>
      session.or([
        session('sessions.home_app_id', '=', session.ref('storage_homes.app_id')),
        session.and([
          session('sessions.swap_state', 'is not', null),
          session('sessions.swap_home_app_id', '=', session.ref('storage_homes.app_id')),
        ]),
      ]),
    )
    .orderBy('sessions.id')
    .limit(1);

/**
 * A session that uses the home, which therefore must not be marked; null: no session uses it. Lock the home before the
 * call, because launches lock it too.
 */
export async function findHolder(tx: Tx, homeId: string): Promise<string | null> {
  const row = await tx
    .selectFrom('storage_homes')
    .select((eb) => usersOf(quotaStates)(eb).as('session_id'))
    .where('id', '=', homeId)
    .executeTakeFirst();
  return row?.session_id ?? null;
}

/**
 * Homes that a host must delete, oldest mark first. A session that is stopping may still write to its home, and a
 * directory that another home of the host uses is never listed.
 * @param markedBeforeMs homes that were marked later are still in their grace period
 * @param after mark and id of the last home of the page before; null: the first page
 * @returns up to limit + 1 homes, with their marks
 */
export function listDueHomes(
  db: Executor,
  hostId: string,
  markedBeforeMs: number,
  after: { gc_after: number; id: string } | null,
  limit: number,
): Promise<(DueHome & { gc_after: number })[]> {
  let query = db.selectFrom('storage_homes').select(['id', 'provider', 'ref', 'gc_after']);
  if (after !== null)
    query = query.where(
      sql<boolean>`(${sql.ref('gc_after')}, ${sql.ref('id')}) > (${after.gc_after}, ${after.id})`,
    );
  return query
    .where('host_id', '=', hostId)
    .where('gc_after', '<=', markedBeforeMs)
    .where((eb) => eb.not(eb.exists(usersOf(nonterminalStates)(eb))))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('storage_homes as other')
            .select('other.id')
            .whereRef('other.host_id', '=', 'storage_homes.host_id')
            .whereRef('other.ref', '=', 'storage_homes.ref')
            .where('other.gc_after', 'is', null),
        ),
      ),
    )
    .orderBy('gc_after')
    .orderBy('id')
    .limit(limit + 1)
    .$narrowType<{ gc_after: number }>()
    .execute();
}

/**
 * Locks and returns the records of these ids on a host until the transaction ends, so that a launch that uses one of
 * the homes waits for the decision.
 */
export function lockHomesOfHost(
  tx: Tx,
  hostId: string,
  ids: readonly string[],
): Promise<Pick<StorageHomesTable, 'id' | 'gc_after' | 'user_id' | 'app_id'>[]> {
  return tx
    .selectFrom('storage_homes')
    .select(['id', 'gc_after', 'user_id', 'app_id'])
    .where('id', 'in', ids)
    .where('host_id', '=', hostId)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** Deletes records. Lock them first. */
export async function deleteHomes(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.deleteFrom('storage_homes').where('id', 'in', ids).execute();
}

/** Locks the records of homes without a host; no host will delete these homes. */
export function lockUnreapableHomes(tx: Tx, limit: number): Promise<{ id: string }[]> {
  return tx
    .selectFrom('storage_homes')
    .select('id')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('storage_homes as lost')
        .select('lost.id')
        .where('lost.host_id', 'is', null)
        .orderBy('lost.id')
        .limit(limit),
    )
    .orderBy('id')
    .forUpdate()
    .execute();
}
