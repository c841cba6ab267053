import type { Selectable } from 'kysely';
import type { Executor, Tx } from '../platform/database/index.ts';
import type { AppsTable } from '../platform/database/tables/catalog.ts';
import type { RecordRow } from './record.ts';

/** App columns that a look-up needs. */
const APP_COLUMNS = ['id', 'name', 'kind', 'external_source', 'external_id', 'cover_url'] as const;
export type ArtworkApp = Pick<Selectable<AppsTable>, (typeof APP_COLUMNS)[number]>;

export async function findApp(db: Executor, appId: string): Promise<ArtworkApp | null> {
  const row = await db.selectFrom('apps').select(APP_COLUMNS).where('id', '=', appId).executeTakeFirst();
  return row ?? null;
}

/** Locks the app's row until the transaction ends; call this before writing the app's record. */
export async function lockApp(tx: Tx, appId: string): Promise<ArtworkApp | null> {
  const query = tx.selectFrom('apps').select(APP_COLUMNS).where('id', '=', appId);
  return (await query.forNoKeyUpdate().executeTakeFirst()) ?? null;
}

export async function findRecord(db: Executor, appId: string): Promise<RecordRow | null> {
  const row = await db
    .selectFrom('artwork_records')
    .selectAll()
    .where('app_id', '=', appId)
    .executeTakeFirst();
  return row ?? null;
}

/** Inserts or replaces the record. */
export async function putRecord(tx: Tx, row: RecordRow): Promise<void> {
  await deleteRecord(tx, row.app_id);
  await tx.insertInto('artwork_records').values(row).execute();
}

export async function deleteRecord(tx: Tx, appId: string): Promise<void> {
  await tx.deleteFrom('artwork_records').where('app_id', '=', appId).execute();
}

/** Apps without a record, newest first. @param except excluded ids; a few hundred at most */
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

/** Whether a record refers to the path. */
export async function isReferenced(db: Executor, path: string): Promise<boolean> {
  const row = await db
    .selectFrom('artwork_records')
    .select('app_id')
    .where((eb) => eb.or([eb('tile_url', '=', path), eb('hero_url', '=', path)]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The paths that a record refers to. @param paths a few hundred at most */
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
