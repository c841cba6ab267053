import {
  batchReads,
  type Database,
  type Executor,
  foldUsername,
  type Tx,
} from '../platform/database/index.ts';
import type { UsersTable } from '../platform/database/tables/accounts.ts';
import { ApiError } from '../platform/errors.ts';

/** One error for email and username, so that it does not reveal which one is taken. */
export function duplicateAccount(): ApiError {
  return new ApiError('conflict', { message: 'An account with this email or username exists.' });
}

/** Column values that invalidate a link to set a password. A new password and the disabling of the account set them. */
export const NO_RESET_LINK = { password_reset_hash: null, password_reset_expires_at: null } as const;

/** Account columns for a sign-in. */
export type AccountRow = Pick<
  UsersTable,
  'id' | 'email' | 'username' | 'password_hash' | 'role' | 'disabled_at' | 'internal' | 'created_at'
>;

const ACCOUNT_COLUMNS = [
  'id',
  'email',
  'username',
  'password_hash',
  'role',
  'disabled_at',
  'internal',
  'created_at',
] as const;

/** @param email trimmed and lowercased */
export async function findAccountByEmail(db: Executor, email: string): Promise<AccountRow | undefined> {
  return db.selectFrom('users').select(ACCOUNT_COLUMNS).where('email', '=', email).executeTakeFirst();
}

export async function findAccount(db: Executor, userId: string): Promise<AccountRow | undefined> {
  return db.selectFrom('users').select(ACCOUNT_COLUMNS).where('id', '=', userId).executeTakeFirst();
}

/**
 * Locks the account until the transaction ends, if its stored hash is still the verified one. A sign-in with the old
 * password must not issue a token after a password change has revoked all tokens.
 */
export async function lockVerifiedAccountShared(
  tx: Tx,
  account: Pick<AccountRow, 'id' | 'password_hash'>,
): Promise<boolean> {
  const query = tx
    .selectFrom('users')
    .select('id')
    .where('id', '=', account.id)
    .where('password_hash', '=', account.password_hash);
  return (await query.forNoKeyUpdate().executeTakeFirst()) !== undefined;
}

/** @returns false when the stored hash is not the verified one; nothing was written */
export async function replacePassword(
  tx: Tx,
  change: { userId: string; verifiedHash: string; newHash: string },
  nowMs: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('users')
    .set({ password_hash: change.newHash, ...NO_RESET_LINK, updated_at: nowMs })
    .where('id', '=', change.userId)
    .where('password_hash', '=', change.verifiedHash)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/**
 * Stores a reset link for an account; a former link becomes invalid.
 * @returns false when the account does not exist or is internal
 */
export async function storeResetLink(
  tx: Tx,
  link: { userId: string; tokenHash: string; expiresAtMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('users')
    .set({ password_reset_hash: link.tokenHash, password_reset_expires_at: link.expiresAtMs })
    .where('id', '=', link.userId)
    .where('internal', '=', 0)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The enabled account with this live link. */
export async function findByResetHash(
  db: Executor,
  tokenHash: string,
  nowMs: number,
): Promise<AccountRow | undefined> {
  return db
    .selectFrom('users')
    .select(ACCOUNT_COLUMNS)
    .where('password_reset_hash', '=', tokenHash)
    .where('password_reset_expires_at', '>', nowMs)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
}

/**
 * Replaces the password and ends the link.
 * @returns false when the link was no longer live; nothing was written
 */
export async function spendResetLink(
  tx: Tx,
  use: { userId: string; tokenHash: string; newHash: string },
  nowMs: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('users')
    .set({ password_hash: use.newHash, ...NO_RESET_LINK, updated_at: nowMs })
    .where('id', '=', use.userId)
    .where('password_reset_hash', '=', use.tokenHash)
    .where('password_reset_expires_at', '>', nowMs)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Whether another account has the username or one with the same folded form. */
export async function isUsernameTaken(db: Executor, username: string, email: string): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .select('id')
    .where('username_folded', '=', foldUsername(username))
    .where('email', '!=', email)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether an account has this email, this username or one with the same folded form. */
export async function isAccountTaken(db: Executor, email: string, username: string): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .select('id')
    .where((where) =>
      where.or([where('email', '=', email), where('username_folded', '=', foldUsername(username))]),
    )
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether any administrator exists, disabled ones included. */
export async function adminExists(db: Executor): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .select('id')
    .where('role', '=', 'admin')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * @throws the driver's unique violation on an email or a username that is taken; the transaction cannot continue after
 *   it
 */
export async function insertAccount(
  tx: Tx,
  account: Pick<UsersTable, 'id' | 'email' | 'username' | 'password_hash' | 'role'> &
    Partial<Pick<UsersTable, 'ephemeral_expires_at'>>,
  nowMs: number,
): Promise<void> {
  await tx
    .insertInto('users')
    .values({
      disabled_at: null,
      max_concurrent_sessions: 3,
      ephemeral_expires_at: null,
      ...account,
      username_folded: foldUsername(account.username),
      internal: 0,
      created_at: nowMs,
      updated_at: nowMs,
    })
    .execute();
}

export async function promoteAccount(tx: Tx, userId: string, nowMs: number): Promise<void> {
  await tx.updateTable('users').set({ role: 'admin', updated_at: nowMs }).where('id', '=', userId).execute();
}

export interface NewToken {
  id: string;
  userId: string;
  tokenHash: string;
  pageHash: string;
  deviceId: string | null;
  userAgent: string | null;
  expiresAtMs: number;
}

export async function insertToken(tx: Tx, token: NewToken, nowMs: number): Promise<void> {
  await tx
    .insertInto('auth_tokens')
    .values({
      id: token.id,
      user_id: token.userId,
      token_hash: token.tokenHash,
      page_hash: token.pageHash,
      device_id: token.deviceId,
      user_agent: token.userAgent,
      expires_at: token.expiresAtMs,
      revoked_at: null,
      last_used_at: null,
      created_at: nowMs,
    })
    .execute();
}

/** A valid token with its owner's current row. */
export interface LiveToken {
  id: string;
  expires_at: number;
  user_id: string;
  device_id: string | null;
  last_used_at: number | null;
  role: 'user' | 'admin';
  username: string;
  email: string;
}

/** Tokens that are not revoked and not expired, and whose owner is enabled. */
function liveTokens(db: Executor, nowMs: number) {
  return db
    .selectFrom('auth_tokens')
    .innerJoin('users', 'users.id', 'auth_tokens.user_id')
    .where('auth_tokens.revoked_at', 'is', null)
    .where('auth_tokens.expires_at', '>', nowMs)
    .where('users.disabled_at', 'is', null);
}

/**
 * The token look-up of every request; requests in the same turn of the event loop share one query.
 * @param now epoch milliseconds, called when the query starts
 */
export function liveTokenFinder(
  database: Database,
  now: () => number,
): (tokenHash: string) => Promise<LiveToken | undefined> {
  return batchReads(async (hashes) => {
    const rows = await liveTokens(database.db, now())
      .select([
        'auth_tokens.token_hash',
        'auth_tokens.id',
        'auth_tokens.expires_at',
        'auth_tokens.user_id',
        'auth_tokens.device_id',
        'auth_tokens.last_used_at',
        'users.role',
        'users.username',
        'users.email',
      ])
      .where('auth_tokens.token_hash', 'in', hashes)
      .execute();
    return new Map(rows.map(({ token_hash, ...token }) => [token_hash, token]));
  });
}

/** Expiry of a valid token, epoch milliseconds; undefined for an invalid token. */
export async function findLiveTokenExpiry(
  db: Executor,
  tokenId: string,
  nowMs: number,
): Promise<number | undefined> {
  const row = await liveTokens(db, nowMs)
    .select('auth_tokens.expires_at')
    .where('auth_tokens.id', '=', tokenId)
    .executeTakeFirst();
  return row?.expires_at;
}

/** Whether one of the page cookies belongs to a live token of an administrator. */
export async function isAdminPage(
  db: Executor,
  pageHashes: readonly string[],
  nowMs: number,
): Promise<boolean> {
  const row = await liveTokens(db, nowMs)
    .select('auth_tokens.id')
    .where('auth_tokens.page_hash', 'in', pageHashes)
    .where('users.role', '=', 'admin')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Sets last_used_at of those tokens whose stored value is at least minAgeMs old. */
export async function touchTokens(
  db: Executor,
  tokenIds: readonly string[],
  nowMs: number,
  minAgeMs: number,
): Promise<void> {
  await db
    .updateTable('auth_tokens')
    .set({ last_used_at: nowMs })
    // Skip tokens that another transaction revokes or deletes.
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('auth_tokens as used')
        .select('used.id')
        .where('used.id', 'in', tokenIds)
        .where((where) =>
          where.or([
            where('used.last_used_at', 'is', null),
            where('used.last_used_at', '<=', nowMs - minAgeMs),
          ]),
        )
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .execute();
}

export async function revokeToken(db: Executor, tokenId: string, nowMs: number): Promise<void> {
  await db
    .updateTable('auth_tokens')
    .set({ revoked_at: nowMs })
    .where('id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Revokes all tokens of the account. */
export async function revokeAllTokens(tx: Tx, userId: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('auth_tokens')
    .set({ revoked_at: nowMs })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute();
}

/**
 * Deletes tokens that were revoked, or expired before the given time.
 * @param limit maximum deleted rows
 * @returns deleted rows (count)
 */
export async function deleteDeadTokens(tx: Tx, expiredBeforeMs: number, limit: number): Promise<number> {
  const result = await tx
    .deleteFrom('auth_tokens')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('auth_tokens as dead')
        .select('dead.id')
        .where((where) =>
          where.or([
            where('dead.revoked_at', 'is not', null),
            where('dead.expires_at', '<', expiredBeforeMs),
          ]),
        )
        .limit(limit)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
