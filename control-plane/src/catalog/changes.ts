import { coalesceReads, type Database, type Executor, type Tx } from '../platform/database/index.ts';
import { LIST_COLUMNS, type ListRow } from './record.ts';
import type { ListedApp } from './store.ts';

/** Scope of a write: the lists that contain one app, the list of one user, or all lists. */
export type CatalogChange = { appId: string } | { userId: string } | 'everything';

/** A stored change, which the caches of the catalog read and apply. */
export interface RecordedChange {
  readonly version: number;
  /** found: the app at the time of the read; null: it is deleted or disabled */
  readonly change: { appId: string; found: ListedApp | null } | { userId: string } | 'everything';
}

/** Maximum changes that can be read back. A process that missed more of them rebuilds its cache. */
export const MAX_CHANGES = 256;
/** Old changes are deleted in batches: a delete with each write would double the cost of the write. */
const PRUNE_EVERY = 64;

/**
 * Stores a change of app lists under the next catalog version. Call this in the transaction that writes the change. It
 * locks the row of the version until the transaction ends. Versions are therefore committed in order and without gaps,
 * and readers see the write together with its version.
 */
export async function recordCatalogChange(tx: Tx, change: CatalogChange): Promise<void> {
  const { version } = await tx
    .updateTable('catalog_version')
    .set((eb) => ({ version: eb('version', '+', 1) }))
    .where('id', '=', 1)
    .returning('version')
    .executeTakeFirstOrThrow();
  const noted = {
    app_id: typeof change === 'object' && 'appId' in change ? change.appId : null,
    user_id: typeof change === 'object' && 'userId' in change ? change.userId : null,
  };
  await tx
    .insertInto('catalog_changes')
    .values({ version, ...noted })
    .execute();
  if (version % PRUNE_EVERY !== 0) return;
  await tx
    .deleteFrom('catalog_changes')
    .where('version', '<=', version - MAX_CHANGES)
    .execute();
}

/** The current catalog version. */
export async function loadVersion(db: Executor): Promise<number> {
  const row = await db.selectFrom('catalog_version').select('version').where('id', '=', 1).executeTakeFirst();
  return row?.version ?? 0;
}

/**
 * Reads the changes after a version, each with its app: with a second query for the apps, a third fewer first lists
 * after a write were answered (Postgres). Callers in the same turn of the event loop share the query, so each caller
 * must skip changes that it already knows.
 * @param since called when the query starts
 * @returns the changes in order; null when some of them may already be deleted
 */
export function changesReader(
  database: Database,
  since: () => number,
): () => Promise<readonly RecordedChange[] | null> {
  return coalesceReads(async () => {
    const known = since();
    const rows = await database.db
      .selectFrom('catalog_changes')
      .leftJoin('apps', (join) =>
        join.onRef('apps.id', '=', 'catalog_changes.app_id').on('apps.enabled', '=', 1),
      )
      .select(['version', 'catalog_changes.app_id', 'catalog_changes.user_id'])
      .select([...LIST_COLUMNS, 'created_at'])
      .select((eb) =>
        eb
          .selectFrom('entitlements')
          .select((count) => count.fn.countAll<number>().as('rows'))
          .whereRef('entitlements.app_id', '=', 'apps.id')
          .where('subject_id', 'is', null)
          .as('everybodys'),
      )
      .where('version', '>', known)
      .orderBy('version')
      .limit(MAX_CHANGES + 1)
      .execute();
    const [first] = rows;
    if (rows.length > MAX_CHANGES || (first !== undefined && first.version !== known + 1)) return null;
    return rows.map(({ version, app_id, user_id, created_at, everybodys, ...app }): RecordedChange => {
      if (app_id === null) return { version, change: user_id === null ? 'everything' : { userId: user_id } };
      if (created_at === null) return { version, change: { appId: app_id, found: null } };
      // A row with one column of the app has them all.
      const row = app as ListRow;
      const facts = { createdAtMs: created_at, everybodys: (everybodys ?? 0) > 0 };
      return { version, change: { appId: app_id, found: { row, facts } } };
    });
  });
}
