import type { ExpressionBuilder } from 'kysely';
import type { Executor, Schema, Tx } from '../../platform/database/index.ts';
import type { InvitesTable } from '../../platform/database/tables/accounts.ts';

export interface InviteRow extends InvitesTable {
  created_by_username: string | null;
}

/** Whether an invite can be redeemed at this time. */
const redeemable = (nowMs: number) => (eb: ExpressionBuilder<Schema, 'invites'>) =>
  eb.and([
    eb('invites.revoked_at', 'is', null),
    eb('invites.used_count', '<', eb.ref('invites.max_uses')),
    eb.or([eb('invites.expires_at', 'is', null), eb('invites.expires_at', '>', nowMs)]),
  ]);

/** Newest first. @param redeemableAtMs only invites that are usable at this time; null = all */
export async function listInvites(db: Executor, redeemableAtMs: number | null): Promise<InviteRow[]> {
  let query = db
    .selectFrom('invites')
    .leftJoin('users', 'users.id', 'invites.created_by_user_id')
    .selectAll('invites')
    .select('users.username as created_by_username');
  if (redeemableAtMs !== null) query = query.where(redeemable(redeemableAtMs));
  return query.orderBy('invites.created_at', 'desc').orderBy('invites.id', 'desc').execute();
}

export async function insertInvite(db: Executor, invite: InvitesTable): Promise<void> {
  await db.insertInto('invites').values(invite).execute();
}

/** @returns whether this call revoked the invite; false for a revoked or unknown invite */
export async function revokeInvite(db: Executor, id: string, nowMs: number): Promise<boolean> {
  const result = await db
    .updateTable('invites')
    .set({ revoked_at: nowMs })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function isInviteRedeemable(db: Executor, codeHash: string, nowMs: number): Promise<boolean> {
  const row = await db
    .selectFrom('invites')
    .select('id')
    .where('code_hash', '=', codeHash)
    .where(redeemable(nowMs))
    .executeTakeFirst();
  return row !== undefined;
}

/** Redeems an invite once by a conditional increment; undefined when the invite is not usable. */
export async function redeemInvite(
  tx: Tx,
  codeHash: string,
  nowMs: number,
): Promise<Pick<InvitesTable, 'role'> | undefined> {
  return tx
    .updateTable('invites')
    .set((columns) => ({ used_count: columns('used_count', '+', 1) }))
    .where('code_hash', '=', codeHash)
    .where(redeemable(nowMs))
    .returning('role')
    .executeTakeFirst();
}
