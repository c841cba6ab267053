import { type Database, lockForRemoval, type Tx } from '../../platform/database/index.ts';
import { orphanHomes } from '../../storage/index.ts';
import { takesLastAdmin } from './last-admin.ts';
import { countOtherAdmins, deleteUser, hasActiveSession, lockUser } from './store.ts';

/** What became of an account that was to be deleted; it is untouched unless it was removed. */
export type Removal =
  | { kind: 'removed'; username: string }
  | { kind: 'unknown' }
  | { kind: 'last_admin' }
  | { kind: 'active_session' };

/**
 * The one way in which an account is removed. Its homes lose their owner and are due for collection;
 * everything else of its own goes with the row. A launch that has the row first is seen here; one that comes later
 * finds no account.
 */
export async function removeUser(
  database: Database,
  tx: Tx,
  userId: string,
  nowMs: number,
): Promise<Removal> {
  await database.advisoryLock(tx, 'last_admin');
  const user = await lockUser(database, tx, userId);
  if (user === undefined) return { kind: 'unknown' };
  const standing = { role: user.role, disabled: user.disabled_at !== null };
  if (takesLastAdmin(standing, null, await countOtherAdmins(tx, userId))) return { kind: 'last_admin' };
  if (await hasActiveSession(tx, userId)) return { kind: 'active_session' };
  await lockForRemoval(tx, 'users', [userId]);
  await orphanHomes(tx, 'user_id', userId, nowMs);
  await deleteUser(tx, userId);
  return { kind: 'removed', username: user.username };
}
