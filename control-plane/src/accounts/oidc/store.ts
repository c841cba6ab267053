import { type Executor, foldUsername, type Tx } from '../../platform/database/index.ts';
import type { OidcIdentitiesTable } from '../../platform/database/tables/accounts.ts';

/** Maximum expired sign-ins that one start deletes. Each start adds one, so their number cannot grow. */
const PRUNED_PER_START = 100;

/** Stores a started sign-in, and deletes expired ones. */
export async function insertLogin(
  tx: Tx,
  login: { loginHash: string; expiresAtMs: number },
  nowMs: number,
): Promise<void> {
  await tx
    .deleteFrom('oidc_logins')
    .where('login_hash', 'in', (eb) =>
      eb
        .selectFrom('oidc_logins as ended')
        .select('ended.login_hash')
        .where('ended.expires_at', '<=', nowMs)
        .limit(PRUNED_PER_START)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .execute();
  await tx
    .insertInto('oidc_logins')
    .values({ login_hash: login.loginHash, expires_at: login.expiresAtMs })
    .execute();
}

/**
 * Ends a started sign-in. Of concurrent calls only one succeeds.
 * @returns the given hash that was stored and is not expired; undefined: there is none
 */
export async function spendLogin(
  db: Executor,
  loginHashes: readonly string[],
  nowMs: number,
): Promise<string | undefined> {
  const row = await db
    .deleteFrom('oidc_logins')
    .where('login_hash', 'in', loginHashes)
    .where('expires_at', '>', nowMs)
    .returning('login_hash')
    .executeTakeFirst();
  return row?.login_hash;
}

/** Id of the account that is linked to a person. */
export async function findLinkedUser(
  db: Executor,
  { issuer, subject }: Pick<OidcIdentitiesTable, 'issuer' | 'subject'>,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('oidc_identities')
    .select('user_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row?.user_id;
}

/** Whether the account is linked to a person. @param issuer missing: of any issuer */
export async function isLinked(db: Executor, userId: string, issuer?: string): Promise<boolean> {
  let query = db.selectFrom('oidc_identities').select('user_id').where('user_id', '=', userId);
  if (issuer !== undefined) query = query.where('issuer', '=', issuer);
  return (await query.limit(1).executeTakeFirst()) !== undefined;
}

/** @throws the driver's unique violation when the person or the account is already linked */
export async function insertIdentity(tx: Tx, identity: OidcIdentitiesTable): Promise<void> {
  await tx.insertInto('oidc_identities').values(identity).execute();
}

/** The first of these usernames that no account has; undefined: all are taken. */
export async function firstFreeUsername(
  db: Executor,
  usernames: readonly string[],
): Promise<string | undefined> {
  const rows = await db
    .selectFrom('users')
    .select('username_folded')
    .where('username_folded', 'in', usernames.map(foldUsername))
    .execute();
  const taken = new Set(rows.map((row) => row.username_folded));
  return usernames.find((username) => !taken.has(foldUsername(username)));
}
