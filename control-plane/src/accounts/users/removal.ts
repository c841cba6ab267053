import { type Database, lockForRemoval, type Tx } from '../../platform/database/index.ts';
import { orphanHomes } from '../../storage/index.ts';
import { isEnabledAdmin, takesLastAdmin } from './last-admin.ts';
import {
  countOtherAdmins,
  deleteUser,
  endResetLinks,
  hasActiveSession,
  lockUser,
  lockWithResetLinks,
} from './store.ts';

/** Result of a deletion. The account is deleted only for `removed`, and unchanged for the other kinds. */
export type Removal =
  | { kind: 'removed'; username: string }
  | { kind: 'unknown' }
  | { kind: 'last_admin' }
  | { kind: 'active_session' };

/**
 * Deletes an account; no other code does. Its homes lose their owner and are marked for deletion; other rows are
 * deleted by cascades. A launch that locked the row first counts as an active session; a later launch finds no account.
 */
export async function removeUser(
  database: Database,
  tx: Tx,
  userId: string,
  nowMs: number,
): Promise<Removal> {
  await database.advisoryLock(tx, 'last_admin');
  await lockWithResetLinks(tx, userId);
  const user = await lockUser(tx, userId);
  if (user === undefined) return { kind: 'unknown' };
  const standing = { role: user.role, disabled: user.disabled_at !== null };
  if (takesLastAdmin(standing, null, await countOtherAdmins(tx, userId))) return { kind: 'last_admin' };
  if (await hasActiveSession(tx, userId)) return { kind: 'active_session' };
  if (isEnabledAdmin(standing)) await endResetLinks(tx);
  await lockForRemoval(tx, 'users', [userId]);
  await orphanHomes(tx, 'user_id', userId, nowMs);
  await deleteUser(tx, userId);
  return { kind: 'removed', username: user.username };
}
