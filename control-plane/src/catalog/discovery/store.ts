/** Tiles and entitlements that library discovery writes. It never changes a row that an administrator created. */
import type { Insertable, Selectable } from 'kysely';
import { flag, type Tx } from '../../platform/database/index.ts';
import type { AppsTable, EntitlementsTable } from '../../platform/database/tables/catalog.ts';
import { type AppRow, toColumns, toFields } from '../record.ts';
import { inheritFromParent, NEW_APP } from '../rules/app-rules.ts';

/** Maximum rows per statement: an app has 28 columns, and SQLite accepts 32,766 values. */
const BATCH = 500;

/** The fields of a provider app's tile that discovery compares and changes. */
export type DiscoveryTile = Pick<Selectable<AppsTable>, 'id' | 'external_id' | 'origin' | 'description'> & {
  enabled: 0 | 1;
};

/** Locks the app's tiles of one source until the transaction ends. */
export async function lockDiscoveryTiles(
  tx: Tx,
  parentId: string,
  source: AppRow['external_source'],
): Promise<DiscoveryTile[]> {
  const query = tx
    .selectFrom('apps')
    .select(['id', 'external_id', 'origin', 'description', 'enabled'])
    .where('parent_app_id', '=', parentId)
    .where('external_source', '=', source)
    .orderBy('id');
  return query.forNoKeyUpdate().execute();
}

/** Locks the user's own entitlements to tiles of the app until the transaction ends. */
export async function lockTileGrants(
  tx: Tx,
  parentId: string,
  userId: string,
): Promise<Pick<Selectable<EntitlementsTable>, 'id' | 'app_id' | 'granted_by'>[]> {
  const query = tx
    .selectFrom('entitlements')
    .select(['id', 'app_id', 'granted_by'])
    .where('subject_id', '=', userId)
    .where('app_id', 'in', (eb) => eb.selectFrom('apps').select('id').where('parent_app_id', '=', parentId))
    .orderBy('id');
  return query.forNoKeyUpdate().execute();
}

export interface NewTile {
  id: string;
  externalId: string;
  name: string;
  description: string;
}

/** Adds enabled tiles with the profile choice of their parent. They have no home and no runtime of their own. */
export async function insertDiscoveredTiles(
  tx: Tx,
  parent: AppRow,
  tiles: readonly NewTile[],
  nowMs: number,
): Promise<void> {
  const rows = tiles.map(({ id, externalId, name, description }): Insertable<AppsTable> => {
    const own = {
      ...NEW_APP,
      name,
      description,
      parent_app_id: parent.id,
      external_source: parent.library_provider,
      external_id: externalId,
    };
    return {
      ...toColumns(inheritFromParent(own, {}, toFields(parent))),
      id,
      hero_url: null,
      origin: 'discovered',
      library_discovery_suspended: 0,
      entitle_first_admin: 0,
      created_at: nowMs,
      updated_at: nowMs,
    };
  });
  for (const batch of batchesOf(rows)) await tx.insertInto('apps').values(batch).execute();
}

/** @param ids locked tiles */
export async function disableTiles(tx: Tx, ids: readonly string[], nowMs: number): Promise<void> {
  for (const batch of batchesOf(ids)) {
    await tx
      .updateTable('apps')
      .set({ enabled: flag(false), updated_at: nowMs })
      .where('id', 'in', batch)
      .execute();
  }
}

/** @param id a locked tile without a description */
export async function describeTile(tx: Tx, id: string, description: string, nowMs: number): Promise<void> {
  await tx.updateTable('apps').set({ description, updated_at: nowMs }).where('id', '=', id).execute();
}

export interface ProviderGrant {
  id: string;
  /** null: the grant is for everybody. */
  userId: string | null;
  appId: string;
  sourceRef: string;
}

export async function insertProviderGrants(
  tx: Tx,
  grants: readonly ProviderGrant[],
  nowMs: number,
): Promise<void> {
  const rows = grants.map(
    (grant): Insertable<EntitlementsTable> => ({
      id: grant.id,
      subject_type: grant.userId === null ? 'all' : 'user',
      subject_id: grant.userId,
      app_id: grant.appId,
      granted_by: 'provider',
      granted_by_user: null,
      source_ref: grant.sourceRef,
      created_at: nowMs,
    }),
  );
  for (const batch of batchesOf(rows)) await tx.insertInto('entitlements').values(batch).execute();
}

/**
 * Deletes the entitlements to these tiles that a provider granted, for all accounts. @returns deleted rows (count)
 */
export async function revokeProviderGrantsOf(tx: Tx, tileIds: readonly string[]): Promise<number> {
  let revoked = 0;
  for (const batch of batchesOf(tileIds)) {
    const query = tx
      .selectFrom('entitlements')
      .select('id')
      .where('app_id', 'in', batch)
      .where('granted_by', '=', 'provider')
      .orderBy('id');
    const rows = await query.forNoKeyUpdate().execute();
    revoked += await revokeProviderGrants(
      tx,
      rows.map(({ id }) => id),
    );
  }
  return revoked;
}

/** Deletes those of the given entitlements that a provider granted. @returns deleted rows (count) */
export async function revokeProviderGrants(tx: Tx, ids: readonly string[]): Promise<number> {
  let revoked = 0;
  for (const batch of batchesOf(ids)) {
    const { numDeletedRows } = await tx
      .deleteFrom('entitlements')
      .where('id', 'in', batch)
      .where('granted_by', '=', 'provider')
      .executeTakeFirst();
    revoked += Number(numDeletedRows);
  }
  return revoked;
}

function batchesOf<T>(items: readonly T[]): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += BATCH) batches.push(items.slice(at, at + BATCH));
  return batches;
}
