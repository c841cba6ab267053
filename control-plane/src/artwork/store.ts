import type { Selectable } from 'kysely';
import type { Database, Executor, Tx } from '../platform/database/index.ts';
import type { AppsTable } from '../platform/database/tables/catalog.ts';
import type { RecordRow } from './record.ts';

/** What the lookup has to know of an app. */
const APP_COLUMNS = ['id', 'name', 'kind', 'external_source', 'external_id', 'cover_url'] as const;
export type ArtworkApp = Pick<Selectable<AppsTable>, (typeof APP_COLUMNS)[number]>;

export async function findApp(db: Executor, appId: string): Promise<ArtworkApp | null> {
  const row = await db.selectFrom('apps').select(APP_COLUMNS).where('id', '=', appId).executeTakeFirst();
  return row ?? null;
}

/** Holds the app's row, and with it the right to write its record, until the transaction ends. */
export async function lockApp(database: Database, tx: Tx, appId: string): Promise<ArtworkApp | null> {
  const query = tx.selectFrom('apps').select(APP_COLUMNS).where('id', '=', appId);
  return (await database.forNoKeyUpdate(query).executeTakeFirst()) ?? null;
}

export async function findRecord(db: Executor, appId: string): Promise<RecordRow | null> {
  const row = await db
    .selectFrom('artwork_records')
    .selectAll()
    .where('app_id', '=', appId)
    .executeTakeFirst();
  return row ?? null;
}

/** Puts the record in place of a former one. */
export async function putRecord(tx: Tx, row: RecordRow): Promise<void> {
  await deleteRecord(tx, row.app_id);
  await tx.insertInto('artwork_records').values(row).execute();
}

export async function deleteRecord(tx: Tx, appId: string): Promise<void> {
  await tx.deleteFrom('artwork_records').where('app_id', '=', appId).execute();
}

export async function setAppPictures(
  tx: Tx,
  appId: string,
  columns: Pick<AppsTable, 'cover_url' | 'hero_url' | 'updated_at'>,
): Promise<void> {
  await tx.updateTable('apps').set(columns).where('id', '=', appId).execute();
}

/** Apps that nobody has looked for yet, newest first. @param except left out; a few hundred at most */
export function listAppsWithoutRecord(
  db: Executor,
  limit: number,
  except: readonly string[],
): Promise<ArtworkApp[]> {
  let query = db
    .selectFrom('apps')
    .select(APP_COLUMNS)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('artwork_records')
            .select('app_id')
            .whereRef('artwork_records.app_id', '=', 'apps.id'),
        ),
      ),
    );
  if (except.length > 0) query = query.where('id', 'not in', except);
  return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/** Every app, newest first. */
export function listApps(db: Executor): Promise<ArtworkApp[]> {
  return db
    .selectFrom('apps')
    .select(APP_COLUMNS)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Whether a record names the path as its tile or its hero. */
export async function isReferenced(db: Executor, path: string): Promise<boolean> {
  const row = await db
    .selectFrom('artwork_records')
    .select('app_id')
    .where((eb) => eb.or([eb('tile_url', '=', path), eb('hero_url', '=', path)]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Those of the paths that a record names. @param paths a few hundred at most */
export async function findReferenced(db: Executor, paths: readonly string[]): Promise<Set<string>> {
  if (paths.length === 0) return new Set();
  const rows = await db
    .selectFrom('artwork_records')
    .select(['tile_url', 'hero_url'])
    .where((eb) => eb.or([eb('tile_url', 'in', paths), eb('hero_url', 'in', paths)]))
    .execute();
  return new Set(
    rows.flatMap(({ tile_url, hero_url }) => [tile_url, hero_url].filter((path) => path !== null)),
  );
}
