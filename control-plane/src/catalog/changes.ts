import { type Database, readOnce, type Tx } from '../platform/database/index.ts';

/** Whose lists a write may change: of all who see one app, of one user, or any. */
export type CatalogChange = { appId: string } | { userId: string } | 'everything';

/** A change as those read it who keep lists. */
export interface NotedChange {
  readonly version: number;
  readonly change: CatalogChange;
}

/** Changes that stay readable; who has missed more starts again. */
export const CHANGES_KEPT = 256;
/** Old ones go in batches: a delete with each write would cost as much as the write. */
const PRUNE_EVERY = 64;

/**
 * Notes a change of what somebody's app list shows, under the next version of the catalog. Call in the transaction of
 * the write: the row of the version is held until it ends, so that versions are committed in their order and without
 * gaps, and no reader sees the one without the other.
 */
export async function noteCatalogChange(tx: Tx, change: CatalogChange): Promise<void> {
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
    .where('version', '<=', version - CHANGES_KEPT)
    .execute();
}

/** The version that the catalog has now. */
export function versionReader(database: Database): () => Promise<number> {
  const load = database.prepare((db) =>
    db.selectFrom('catalog_version').select('version').where('id', '=', 1),
  );
  return async () => (await load({}))[0]?.version ?? 0;
}

/**
 * Reads what came after a version; those who ask in the same turn share the query, so each of them passes over what it
 * knows.
 * @param since asked when the query begins
 * @returns in order; null when so much came that some of it may be gone
 */
export function changesReader(
  database: Database,
  since: () => number,
): () => Promise<readonly NotedChange[] | null> {
  const load = database.prepare((db, values: { since: number; limit: number }) =>
    db
      .selectFrom('catalog_changes')
      .select(['version', 'app_id', 'user_id'])
      .where('version', '>', values.since)
      .orderBy('version')
      .limit(values.limit),
  );
  /** Nothing came after the version as long as the database stands here. */
  let quiet: { version: number; revision: number | null } | null = null;
  return readOnce(async () => {
    const known = since();
    const revision = database.revision();
    if (revision !== null && revision === quiet?.revision && known === quiet.version) return NOTHING;
    const rows = await load({ since: known, limit: CHANGES_KEPT + 1 });
    if (rows.length === 0) {
      quiet = { version: known, revision };
      return NOTHING;
    }
    if (rows.length > CHANGES_KEPT || rows[0]?.version !== known + 1) return null;
    return rows.map(({ version, app_id, user_id }): NotedChange => {
      if (app_id !== null) return { version, change: { appId: app_id } };
      return { version, change: user_id === null ? 'everything' : { userId: user_id } };
    });
  });
}

const NOTHING: readonly NotedChange[] = [];
