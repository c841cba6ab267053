import { nonterminalStates } from '@footlight/protocol';
import { sql, type Updateable } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import { containsText } from '../../platform/database/query/search.ts';
import type { UsersTable } from '../../platform/database/tables/accounts.ts';
import { isAfter, type PageKey } from '../../platform/page-cursor.ts';
import { NO_RESET_LINK } from '../store.ts';
import type { UserRow } from './record.ts';

/** Literals, so that the partial index over these states is used. */
const ACTIVE = nonterminalStates.map((state) => sql.lit(state));

/** Accounts that administrators see, with values from devices and sessions. */
const visibleUsers = (db: Executor) =>
  db
    .selectFrom('users')
    .where('users.internal', '=', 0)
    .select([
      'users.id',
      'users.email',
      'users.username',
      'users.password_hash',
      'users.role',
      'users.disabled_at',
      'users.max_concurrent_sessions',
      'users.created_at',
    ])
    .select((eb) => [
      eb
        .selectFrom('devices')
        .whereRef('devices.user_id', '=', 'users.id')
        .select((device) => device.fn.max('devices.last_seen_at').as('at'))
        .as('last_seen_at'),
      eb
        .selectFrom('sessions')
        .whereRef('sessions.user_id', '=', 'users.id')
        .where('sessions.state', 'in', ACTIVE)
        .select((session) => session.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('active_session_count'),
      eb
        .selectFrom('oidc_identities')
        .whereRef('oidc_identities.user_id', '=', 'users.id')
        .select((identity) => identity.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('identity_count'),
    ]);

/**
 * One page, newest first. One extra row shows that another page exists.
 * @param search part of an email or username; undefined = all
 */
export async function listUsers(
  db: Executor,
  search: string | undefined,
  after: PageKey | null,
  limit: number,
): Promise<UserRow[]> {
  let query = visibleUsers(db);
  if (search !== undefined) query = query.where(containsText(['users.email', 'users.username'], search));
  if (after !== null) query = query.where(isAfter('users', after));
  return query
    .orderBy('users.created_at', 'desc')
    .orderBy('users.id', 'desc')
    .limit(limit + 1)
    .execute();
}

export async function findUser(db: Executor, id: string): Promise<UserRow | undefined> {
  return visibleUsers(db).where('users.id', '=', id).executeTakeFirst();
}

/** Locks the account's row against launches and changes until the transaction ends. Internal accounts are not found. */
export async function lockUser(
  tx: Tx,
  id: string,
): Promise<Pick<UsersTable, 'id' | 'username' | 'role' | 'disabled_at'> | undefined> {
  const query = tx
    .selectFrom('users')
    .select(['id', 'username', 'role', 'disabled_at'])
    .where('id', '=', id)
    .where('internal', '=', 0);
  return query.forNoKeyUpdate().executeTakeFirst();
}

/**
 * Locks the account and all accounts with a link to set a password, in the order of their ids. The lock `last_admin`,
 * which the caller holds, prevents new links.
 */
export async function lockWithResetLinks(tx: Tx, id: string): Promise<void> {
  const query = tx
    .selectFrom('users')
    .select('id')
    .where((eb) => eb.or([eb('id', '=', id), eb('password_reset_hash', 'is not', null)]))
    .orderBy('id');
  await query.forNoKeyUpdate().execute();
}

/** Ends the password links of all accounts. Call lockWithResetLinks before it. */
export async function endResetLinks(tx: Tx): Promise<void> {
  await tx.updateTable('users').set(NO_RESET_LINK).where('password_reset_hash', 'is not', null).execute();
}

export async function updateUser(tx: Tx, id: string, columns: Updateable<UsersTable>): Promise<void> {
  await tx.updateTable('users').set(columns).where('id', '=', id).execute();
}

/** Deletes the account; cascades delete its rows. Entitlements that it granted stay, without its name. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('users').where('id', '=', id).execute();
}

/** Other enabled administrators (count). */
export async function countOtherAdmins(tx: Tx, id: string): Promise<number> {
  const row = await tx
    .selectFrom('users')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('role', '=', 'admin')
    .where('disabled_at', 'is', null)
    .where('internal', '=', 0)
    .where('id', '!=', id)
    .executeTakeFirstOrThrow();
  return row.count;
}

/** Live sessions of the account. */
export async function listActiveSessions(tx: Tx, userId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('state', 'in', ACTIVE)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

export async function hasActiveSession(tx: Tx, userId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('state', 'in', ACTIVE)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Expired accounts, the longest expired first. */
export async function listExpiredUsers(db: Executor, nowMs: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where('ephemeral_expires_at', '<=', nowMs)
    .orderBy('ephemeral_expires_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}
