import { nonterminalStates } from '@footlight/protocol';
import { type ExpressionBuilder, type Insertable, sql, type Updateable } from 'kysely';
import type { Executor, Schema, Tx } from '../platform/database/index.ts';
import { containsText } from '../platform/database/query/search.ts';
import type { AppsTable } from '../platform/database/tables/catalog.ts';
import type { OffsetPage } from '../platform/offset-cursor.ts';
import { type AppRow, LIST_COLUMNS, type ListRow } from './record.ts';

/**
 * Whether the user may see the app. The query reads both sets of entitlements once, from their indexes, and checks apps
 * in list order, so a full page ends the query. With the union of the sets, Postgres would compare every app with every
 * member. With the bare id column, SQLite would look up and sort all members.
 */
export function isEntitledTo(eb: ExpressionBuilder<Schema, 'apps'>, userId: string) {
  const granted = eb.selectFrom('entitlements').select('app_id');
  const id = eb.fn.coalesce('apps.id', sql.lit(''));
  return eb.or([
    eb(id, 'in', granted.where('subject_id', 'is', null)),
    eb(id, 'in', granted.where('subject_id', '=', userId)),
  ]);
}

/** Whether the user may see the app: a row for everybody or the user's own row is required, also for administrators. */
export async function isEntitled(db: Executor, userId: string, appId: string): Promise<boolean> {
  const row = await db
    .selectFrom('entitlements')
    .select('id')
    .where('app_id', '=', appId)
    .where((eb) => eb.or([eb('subject_id', 'is', null), eb('subject_id', '=', userId)]))
    .executeTakeFirst();
  return row !== undefined;
}

/** One page of the user's apps, newest first. One extra row shows that another page exists. */
export function listEntitledApps(
  db: Executor,
  userId: string,
  { offset, limit }: OffsetPage,
): Promise<ListRow[]> {
  return db
    .selectFrom('apps')
    .select(LIST_COLUMNS)
    .where('enabled', '=', 1)
    .where((eb) => isEntitledTo(eb, userId))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .offset(offset)
    .execute();
}

/** Facts that decide in which lists an app appears, and at which place. */
export interface ListingFacts {
  createdAtMs: number;
  /** Whether the app has an entitlement for everybody. */
  everybodys: boolean;
}

/** An enabled app as the cached lists need it. */
export type ListedApp = { row: ListRow; facts: ListingFacts };

/** All enabled apps, newest first; null if there are more than `max`. */
export async function listEnabledApps(db: Executor, max: number): Promise<ListedApp[] | null> {
  const rows = await db
    .selectFrom('apps')
    .select(LIST_COLUMNS)
    .select('created_at')
    .where('enabled', '=', 1)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(max + 1)
    .execute();
  if (rows.length > max) return null;
  const shared = await db
    .selectFrom('entitlements')
    .select('app_id')
    .where('subject_id', 'is', null)
    .execute();
  const everybodys = new Set(shared.map((row) => row.app_id));
  return rows.map(({ created_at, ...row }) => ({
    row,
    facts: { createdAtMs: created_at, everybodys: everybodys.has(row.id) },
  }));
}

/** Ids of the apps in the user's own entitlements. */
export async function loadGrants(db: Executor, userId: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('entitlements')
    .select('app_id')
    .where('subject_id', '=', userId)
    .execute();
  return new Set(rows.map((row) => row.app_id));
}

/** The app, if it is enabled and the user is entitled to it; otherwise null. */
export async function findEntitledApp(db: Executor, userId: string, appId: string): Promise<AppRow | null> {
  const row = await db
    .selectFrom('apps')
    .selectAll()
    .where('id', '=', appId)
    .where('enabled', '=', 1)
    .where((eb) => isEntitledTo(eb, userId))
    .executeTakeFirst();
  return row ?? null;
}

/** @param search literal part of the name; case is ignored; null: no filter */
export function listAllApps(db: Executor, search: string | null, page: OffsetPage): Promise<AppRow[]> {
  let query = db.selectFrom('apps').selectAll();
  if (search !== null) query = query.where(containsText(['apps.name'], search));
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .offset(page.offset)
    .execute();
}

export async function findApp(db: Executor, appId: string): Promise<AppRow | null> {
  return (await db.selectFrom('apps').selectAll().where('id', '=', appId).executeTakeFirst()) ?? null;
}

/** Locks the app's row against launches and changes until the transaction ends. */
export async function lockApp(tx: Tx, appId: string): Promise<AppRow | null> {
  const query = tx.selectFrom('apps').selectAll().where('id', '=', appId);
  return (await query.forNoKeyUpdate().executeTakeFirst()) ?? null;
}

export async function insertApp(tx: Tx, row: Insertable<AppsTable>): Promise<void> {
  await tx.insertInto('apps').values(row).execute();
}

export async function updateApp(tx: Tx, appId: string, columns: Updateable<AppsTable>): Promise<void> {
  await tx.updateTable('apps').set(columns).where('id', '=', appId).execute();
}

/** Cascades delete all rows that refer to the app. */
export async function deleteApp(tx: Tx, appId: string): Promise<void> {
  await tx.deleteFrom('apps').where('id', '=', appId).execute();
}

export async function countApps(db: Executor): Promise<number> {
  const row = await db
    .selectFrom('apps')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

/** At most `limit` tiles of the app, sorted by name. */
export function listTiles(tx: Tx, appId: string, limit: number): Promise<{ id: string; name: string }[]> {
  return tx
    .selectFrom('apps')
    .select(['id', 'name'])
    .where('parent_app_id', '=', appId)
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Locks the app's tiles until the transaction ends. @returns their ids */
export async function lockTiles(tx: Tx, appId: string): Promise<string[]> {
  const query = tx.selectFrom('apps').select('id').where('parent_app_id', '=', appId).orderBy('id');
  return (await query.forNoKeyUpdate().execute()).map(({ id }) => id);
}

/** Whether a live session runs the app or one of its tiles. */
export async function hasLiveSession(tx: Tx, appId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('sessions')
    .select('id')
    .where('state', 'in', nonterminalStates)
    .where((eb) =>
      eb.or([
        eb('app_id', '=', appId),
        eb('swap_app_id', '=', appId),
        eb('app_id', 'in', eb.selectFrom('apps').select('id').where('parent_app_id', '=', appId)),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Sets the app's pictures that a person's library shows. */
export async function setAppPictures(
  tx: Tx,
  appId: string,
  columns: Pick<AppsTable, 'cover_url' | 'hero_url' | 'updated_at'>,
): Promise<void> {
  await tx.updateTable('apps').set(columns).where('id', '=', appId).execute();
}

/** Counts the sessions of each app that were created since the given time, in any state. */
export async function countSessionsSince(
  db: Executor,
  appIds: readonly string[],
  sinceMs: number,
): Promise<Map<string, number>> {
  if (appIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('sessions')
    .select(['app_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('app_id', 'in', appIds)
    .where('created_at', '>=', sinceMs)
    .groupBy('app_id')
    .execute();
  return new Map(rows.map((row) => [row.app_id, row.count]));
}

/** The allow-lists of those apps in `appIds` that have an allow-list. */
export async function loadAllowLists(
  db: Executor,
  appIds: readonly string[],
): Promise<Map<string, string[]>> {
  const lists = new Map<string, string[]>();
  if (appIds.length === 0) return lists;
  const rows = await db
    .selectFrom('app_launch_profiles')
    .select(['app_id', 'launch_profile_id'])
    .where('app_id', 'in', appIds)
    .execute();
  for (const { app_id, launch_profile_id } of rows) {
    const list = lists.get(app_id);
    if (list) list.push(launch_profile_id);
    else lists.set(app_id, [launch_profile_id]);
  }
  return lists;
}

export async function replaceAllowList(tx: Tx, appId: string, profileIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('app_launch_profiles').where('app_id', '=', appId).execute();
  if (profileIds.length === 0) return;
  await tx
    .insertInto('app_launch_profiles')
    .values(profileIds.map((launch_profile_id) => ({ app_id: appId, launch_profile_id })))
    .execute();
}

/** Whether an artwork record owns the app's pictures. */
export async function hasArtwork(tx: Tx, appId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('artwork_records')
    .select('app_id')
    .where('app_id', '=', appId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function isDiscoveryEnabled(tx: Tx): Promise<boolean> {
  const row = await tx
    .selectFrom('instance_settings')
    .select('library_discovery_enabled')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  return row.library_discovery_enabled === 1;
}

/**
 * Locks the seeded apps that are reserved for the first administrator, until the transaction ends. @returns their ids
 */
export async function lockFirstAdminApps(tx: Tx): Promise<string[]> {
  const query = tx.selectFrom('apps').select('id').where('entitle_first_admin', '=', 1).orderBy('id');
  return (await query.forNoKeyUpdate().execute()).map((row) => row.id);
}

export async function clearFirstAdminApps(tx: Tx): Promise<void> {
  await tx.updateTable('apps').set({ entitle_first_admin: 0 }).where('entitle_first_admin', '=', 1).execute();
}
