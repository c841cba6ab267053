import type { Selectable } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type { AppsTable, EntitlementsTable } from '../../platform/database/tables/catalog.ts';

/** A row with display names. */
export type EntitlementRow = Selectable<EntitlementsTable> & {
  subject_username: string | null;
  app_name: string;
};

const entitlementQuery = (db: Executor) =>
  db
    .selectFrom('entitlements')
    .innerJoin('apps', 'apps.id', 'entitlements.app_id')
    .leftJoin('users', 'users.id', 'entitlements.subject_id')
    .selectAll('entitlements')
    .select(['apps.name as app_name', 'users.username as subject_username']);

/** The row for everybody comes first; the others are sorted by user name. */
export async function listEntitlements(db: Executor, appId: string): Promise<EntitlementRow[]> {
  return entitlementQuery(db)
    .where('entitlements.app_id', '=', appId)
    .orderBy('entitlements.subject_type')
    .orderBy('users.username')
    .orderBy('entitlements.created_at')
    .orderBy('entitlements.id')
    .execute();
}

/** The account's own rows, sorted by app name. */
export async function listEntitlementsOfUser(db: Executor, userId: string): Promise<EntitlementRow[]> {
  return entitlementQuery(db)
    .where('entitlements.subject_id', '=', userId)
    .orderBy('apps.name')
    .orderBy('entitlements.created_at')
    .orderBy('entitlements.id')
    .execute();
}

export async function findEntitlement(db: Executor, id: string): Promise<EntitlementRow | null> {
  return (await entitlementQuery(db).where('entitlements.id', '=', id).executeTakeFirst()) ?? null;
}

/** @throws when the row is missing */
export function loadEntitlement(tx: Tx, id: string): Promise<EntitlementRow> {
  return entitlementQuery(tx).where('entitlements.id', '=', id).executeTakeFirstOrThrow();
}

/** @param userId null: the row for everybody */
export async function entitlementExists(tx: Tx, appId: string, userId: string | null): Promise<boolean> {
  const row = await tx
    .selectFrom('entitlements')
    .select('id')
    .where('app_id', '=', appId)
    .where('subject_id', userId === null ? 'is' : '=', userId)
    .executeTakeFirst();
  return row !== undefined;
}

/** @param subjectId null: the row is for everybody. @param grantedBy null: no account granted it */
export async function insertAdminEntitlement(
  tx: Tx,
  row: { id: string; appId: string; subjectId: string | null; grantedBy: string | null; nowMs: number },
): Promise<void> {
  await tx
    .insertInto('entitlements')
    .values({
      id: row.id,
      subject_type: row.subjectId === null ? 'all' : 'user',
      subject_id: row.subjectId,
      app_id: row.appId,
      granted_by: 'admin',
      granted_by_user: row.grantedBy,
      source_ref: '',
      created_at: row.nowMs,
    })
    .execute();
}

/** Locks an app's entitlements in the same order as a launch locks them, which prevents deadlocks. */
export async function lockEntitlements(tx: Tx, appId: string): Promise<void> {
  const query = tx.selectFrom('entitlements').select('id').where('app_id', '=', appId).orderBy('id');
  await query.forNoKeyUpdate().execute();
}

/** @returns false when the row is already deleted */
export async function deleteEntitlement(tx: Tx, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('entitlements').where('id', '=', id).executeTakeFirst();
  return numDeletedRows > 0n;
}

export async function deleteEntitlementsOf(tx: Tx, appId: string): Promise<void> {
  await lockEntitlements(tx, appId);
  await tx.deleteFrom('entitlements').where('app_id', '=', appId).execute();
}

/** Whether the account exists; it cannot be deleted until the transaction ends. */
export async function lockUserShared(tx: Tx, userId: string): Promise<boolean> {
  const query = tx.selectFrom('users').select('id').where('id', '=', userId);
  return (await query.forKeyShare().executeTakeFirst()) !== undefined;
}

/** The provider's oldest app, locked until the transaction ends. */
export async function lockProviderApp(tx: Tx, provider: string): Promise<{ id: string } | null> {
  const query = tx
    .selectFrom('apps')
    .select('id')
    .where('library_provider', '=', provider as AppsTable['library_provider'])
    .orderBy('created_at')
    .orderBy('id')
    .limit(1);
  return (await query.forNoKeyUpdate().executeTakeFirst()) ?? null;
}
