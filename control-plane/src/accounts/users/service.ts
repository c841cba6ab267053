import type { AdminUser, Body, Entitlement, Query } from '@footlight/protocol/rest';
import type { Tx } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import { pageOf, readCursorOrStart } from '../../platform/page-cursor.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AccountsDeps } from '../deps.ts';
import { NO_RESET_LINK } from '../store.ts';
import { isEnabledAdmin, takesLastAdmin } from './last-admin.ts';
import { toAdminUser } from './record.ts';
import { removeUser } from './removal.ts';
import {
  countOtherAdmins,
  endResetLinks,
  findUser,
  listActiveSessions,
  listUsers,
  lockUser,
  lockWithResetLinks,
  updateUser,
} from './store.ts';

/** Operations of administrators on accounts. */
export interface Users {
  list(query: Query<'users.list'>): Promise<{ items: AdminUser[]; next_cursor: string | null }>;
  /**
   * Applies all fields or none, then `end_sessions` as best effort. @throws ApiError 404; 409 for the last enabled
   * administrator
   */
  update(actor: Caller, id: string, body: Body<'users.update'>): Promise<AdminUser>;
  /** @throws ApiError 409 own account, 404, 409 last enabled administrator, 409 a session has not ended; in this order */
  remove(actor: Caller, id: string): Promise<void>;
  /** The account's own entitlements. @throws ApiError 404 */
  entitlements(id: string): Promise<Entitlement[]>;
}

export function createUsers(
  platform: Platform,
  deps: Pick<AccountsDeps, 'listEntitlementsOfUser' | 'stopSessions'>,
): Users {
  const { activity, clock, database } = platform;

  return {
    async list({ q, cursor, limit }) {
      const page = pageOf(await listUsers(database.db, q, readCursorOrStart(cursor), limit), limit);
      return { items: page.rows.map(toAdminUser), next_cursor: page.next_cursor };
    },

    async update(actor, id, body) {
      const { role, disabled, end_sessions, max_concurrent_sessions } = body;
      const { user, ending } = await database.transaction(async (tx) => {
        await database.advisoryLock(tx, 'last_admin');
        await requireStillAdmin(tx, actor);
        if (role === 'user' || disabled === true) await lockWithResetLinks(tx, id);
        const before = await lockUser(tx, id);
        if (before === undefined) throw unknownUser();
        const standing = { role: before.role, disabled: before.disabled_at !== null };
        const after = { role: role ?? standing.role, disabled: disabled ?? standing.disabled };
        if (takesLastAdmin(standing, after, await countOtherAdmins(tx, id))) throw lastAdmin();
        const nowMs = clock.nowMs();
        const columns = {
          ...(role && { role }),
          ...(typeof disabled === 'boolean' && {
            disabled_at: disabled ? (before.disabled_at ?? nowMs) : null,
            ...(disabled && NO_RESET_LINK),
          }),
          ...(typeof max_concurrent_sessions === 'number' && { max_concurrent_sessions }),
        };
        // Revoke all links: a former administrator could sign in as another administrator with a link that he created
        // earlier.
        if (isEnabledAdmin(standing) && !isEnabledAdmin(after)) await endResetLinks(tx);
        if (Object.keys(columns).length > 0) await updateUser(tx, id, { ...columns, updated_at: nowMs });
        const row = await findUser(tx, id);
        if (row === undefined) throw unknownUser();
        const ending = disabled && end_sessions ? await listActiveSessions(tx, id) : [];
        return { user: toAdminUser(row), ending };
      });
      if (role) await activity.record(actor.userId, 'user.role_changed', id, { role });
      if (typeof disabled === 'boolean')
        await activity.record(actor.userId, disabled ? 'user.disabled' : 'user.enabled', id);
      if (typeof max_concurrent_sessions === 'number') {
        await activity.record(actor.userId, 'user.quota_changed', id, { max_concurrent_sessions });
      }
      if (ending.length > 0) await deps.stopSessions(ending, 'account_disabled');
      return user;
    },

    async remove(actor, id) {
      if (actor.userId === id) {
        throw new ApiError('conflict', {
          message: 'You cannot delete your own account; ask another administrator.',
        });
      }
      const removal = await database.transaction(async (tx) => {
        await database.advisoryLock(tx, 'last_admin');
        await requireStillAdmin(tx, actor);
        return removeUser(database, tx, id, clock.nowMs());
      });
      switch (removal.kind) {
        case 'unknown':
          throw unknownUser();
        case 'last_admin':
          throw lastAdmin();
        case 'active_session':
          throw new ApiError('conflict', {
            message: 'This account has sessions that have not ended; stop them first.',
          });
        case 'removed':
          return activity.record(actor.userId, 'user.deleted', id, { username: removal.username });
      }
    },

    async entitlements(id) {
      if ((await findUser(database.db, id)) === undefined) throw unknownUser();
      return deps.listEntitlementsOfUser(id);
    },
  };
}

/**
 * Checks the caller again under the lock that every change of a role takes. Otherwise a request that was authorized
 * before the caller's demotion, and waited for the lock, could undo the demotion.
 * @throws ApiError unauthorized, forbidden
 */
export async function requireStillAdmin(tx: Tx, actor: Caller): Promise<void> {
  const user = await findUser(tx, actor.userId);
  if (user === undefined || user.disabled_at !== null) throw new ApiError('unauthorized');
  if (user.role !== 'admin') throw new ApiError('forbidden');
}

export const unknownUser = (): ApiError =>
  new ApiError('not_found', { message: 'There is no such account.' });

const lastAdmin = (): ApiError =>
  new ApiError('conflict', {
    message: 'This is the last enabled administrator; make somebody else one first.',
  });
