import type { Executor, Tx } from '../platform/database/index.ts';
import type { StorageHomesTable } from '../platform/database/tables/sessions.ts';

/** The home of one user and app on one host, if it exists. */
export async function loadHome(
  tx: Executor,
  key: { userId: string; appId: string; hostId: string },
): Promise<StorageHomesTable | undefined> {
  return tx
    .selectFrom('storage_homes')
    .selectAll()
    .where('user_id', '=', key.userId)
    .where('app_id', '=', key.appId)
    .where('host_id', '=', key.hostId)
    .executeTakeFirst();
}

/** Whether a user has a home of this app on this host that is not marked for deletion. */
export async function hasHome(
  db: Executor,
  key: { userId: string; appId: string; hostId: string },
): Promise<boolean> {
  const home = await loadHome(db, key);
  return home !== undefined && home.gc_after === null;
}

/** Locks the homes of these users for these apps, in the common lock order. */
export async function lockHomes(tx: Tx, owners: readonly { userId: string; appId: string }[]): Promise<void> {
  const of = (key: 'userId' | 'appId') => [...new Set(owners.map((owner) => owner[key]))];
  const query = tx
    .selectFrom('storage_homes')
    .select('id')
    .where('user_id', 'in', of('userId'))
    .where('app_id', 'in', of('appId'))
    .orderBy('id');
  await query.forNoKeyUpdate().execute();
}

/**
 * Marks a home as used now, which also cancels its deletion. Waits for a concurrent confirmation of the deletion by the
 * host.
 * @returns false: the home was deleted
 */
export async function touchHome(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const result = await tx
    .updateTable('storage_homes')
    .set({ last_used_at: nowMs, gc_after: null })
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function isRefTaken(db: Executor, hostId: string, ref: string): Promise<boolean> {
  const row = await db
    .selectFrom('storage_homes')
    .select('id')
    .where('host_id', '=', hostId)
    .where('ref', '=', ref)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertHome(tx: Tx, home: StorageHomesTable): Promise<void> {
  await tx.insertInto('storage_homes').values(home).execute();
}

/**
 * Stores the size that the agent measured at the end of a session. Skips a home that a launch has locked, because the
 * end of the new session brings a newer size.
 */
export async function storeHomeSize(
  tx: Tx,
  key: { userId: string; appId: string; hostId: string },
  bytes: number,
): Promise<void> {
  await tx
    .updateTable('storage_homes')
    .set({ bytes_used: bytes })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('storage_homes as home')
        .select('home.id')
        .where('home.user_id', '=', key.userId)
        .where('home.app_id', '=', key.appId)
        .where('home.host_id', '=', key.hostId)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .execute();
}

/** Host of the most recently used home that is not marked for deletion; null: there is none. */
export async function loadNewestHomeHost(
  db: Executor,
  userId: string,
  appId: string,
): Promise<{ host_id: string } | null> {
  const row = await db
    .selectFrom('storage_homes')
    .select('host_id')
    .where('user_id', '=', userId)
    .where('app_id', '=', appId)
    .where('host_id', 'is not', null)
    .where('gc_after', 'is', null)
    .orderBy('last_used_at', 'desc')
    .orderBy('id')
    .executeTakeFirst();
  return row === undefined ? null : { host_id: row.host_id as string };
}

/**
 * Removes the reference to a deleted user, app or host from homes, and marks these homes for deletion.
 * @returns number of changed homes
 */
export async function orphanHomes(
  tx: Tx,
  column: 'user_id' | 'app_id' | 'host_id',
  id: string,
  nowMs: number,
): Promise<number> {
  const result = await tx
    .updateTable('storage_homes')
    .set({ [column]: null, gc_after: nowMs })
    .where(column, '=', id)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * Size of a user's homes by app, summed over hosts; homes that are marked for deletion and homes of deleted apps are
 * left out.
 */
export function sumOwnHomes(
  db: Executor,
  userId: string,
): Promise<{ app_id: string; app_name: string; bytes_used: number; last_used_at: number }[]> {
  return db
    .selectFrom('storage_homes')
    .innerJoin('apps', 'apps.id', 'storage_homes.app_id')
    .select((eb) => [
      'apps.id as app_id',
      'apps.name as app_name',
      eb.fn.sum<number>('storage_homes.bytes_used').as('bytes_used'),
      eb.fn.max<number>('storage_homes.last_used_at').as('last_used_at'),
    ])
    .where('storage_homes.user_id', '=', userId)
    .where('storage_homes.gc_after', 'is', null)
    .groupBy(['apps.id', 'apps.name'])
    .orderBy('apps.name')
    .orderBy('apps.id')
    .execute();
}

/**
 * Marks for deletion the homes of the app, and homes that its tiles had before they became tiles. The hosts then delete
 * the files.
 */
export async function releaseHomesOfApp(tx: Tx, appId: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('storage_homes')
    .set({ app_id: null, gc_after: nowMs })
    .where((eb) =>
      eb.or([
        eb('app_id', '=', appId),
        eb('app_id', 'in', eb.selectFrom('apps').select('id').where('parent_app_id', '=', appId)),
      ]),
    )
    .execute();
}
