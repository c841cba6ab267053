import type { Role } from '@footlight/protocol/rest';
import type { OidcConfig } from '../../platform/config/config.ts';
import type { Tx } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { unusableHash } from '../sign-in/password-hasher.ts';
import {
  type AccountRow,
  findAccount,
  findAccountByEmail,
  insertAccount,
  NO_RESET_LINK,
  revokeAllTokens,
} from '../store.ts';
import {
  countOtherAdmins,
  endResetLinks,
  listActiveSessions,
  lockUser,
  lockWithResetLinks,
  updateUser,
} from '../users/store.ts';
import {
  type AccountFacts,
  decideRole,
  decideSignIn,
  type Identity,
  roleOf,
  usernameChoices,
} from './identity.ts';
import { findLinkedUser, firstFreeUsername, insertIdentity, isLinked } from './store.ts';

/** If `ada` and all its numbered forms such as `ada-2` are taken, the username gets this many random bytes as hex. */
const SUFFIX_BYTES = 4;

/** The account of a person of the provider, and what the sign-in changed. */
export interface AccountMatch {
  account: Pick<AccountRow, 'id' | 'email' | 'username' | 'role'>;
  /** The account existed and is linked to the person now. */
  isNewlyLinked: boolean;
  /** Sessions that the earlier user of a newly linked account may have open. */
  endingSessions: readonly string[];
  /** Role that the provider's groups gave; null: the role did not change. */
  newRole: Role | null;
  /** The groups would take the role from the last administrator. */
  keptLastAdmin: boolean;
}

export interface PersonAccounts {
  /**
   * Finds, links or creates the account of a person, in the given transaction, and locks its row.
   * @param mayRegister whether the sign-in may create an account
   * @throws ApiError the refusals of decideSignIn; the driver's unique violation if another transaction was faster
   */
  findOrCreate(tx: Tx, identity: Identity, mayRegister: boolean): Promise<AccountMatch>;
}

export function createPersonAccounts(platform: Platform, config: OidcConfig): PersonAccounts {
  const { clock, database, random } = platform;

  /** Locks an account before its facts are read. A user's role may need the locks of all accounts with reset links. */
  async function lockAccount(tx: Tx, seen: AccountRow, wanted: Role | null): Promise<AccountRow | undefined> {
    if (wanted === 'user' && seen.role === 'admin') await lockWithResetLinks(tx, seen.id);
    await lockUser(tx, seen.id);
    return findAccount(tx, seen.id);
  }

  async function register(tx: Tx, identity: Identity, role: Role): Promise<AccountMatch> {
    const { issuer, subject, email, username } = identity;
    if (email === null) throw new Error('a person without an email was not refused');
    const nowMs = clock.nowMs();
    const free = await firstFreeUsername(tx, usernameChoices(username));
    const account = {
      id: random.uuid(),
      email,
      username: free ?? `${username}-${random.bytes(SUFFIX_BYTES).toString('hex')}`,
      role,
    };
    await insertAccount(tx, { ...account, password_hash: unusableHash(random) }, nowMs);
    await insertIdentity(tx, { issuer, subject, user_id: account.id, created_at: nowMs });
    return {
      account,
      isNewlyLinked: false,
      endingSessions: [],
      newRole: role === 'admin' ? role : null,
      keptLastAdmin: false,
    };
  }

  /**
   * Links an account to the owner of its email. Registration does not verify an email, so a stranger may have registered
   * the account and wait for its owner. So all sign-ins end, and a user's password and sessions with them. An administrator
   * keeps both: another administrator gave the role to this account, and the password works while the provider is down.
   */
  async function link(tx: Tx, account: AccountRow, { issuer, subject }: Identity): Promise<void> {
    const nowMs = clock.nowMs();
    if (account.role === 'user') {
      const withoutPassword = { password_hash: unusableHash(random), ...NO_RESET_LINK, updated_at: nowMs };
      await updateUser(tx, account.id, withoutPassword);
    }
    await revokeAllTokens(tx, account.id, nowMs);
    await insertIdentity(tx, { issuer, subject, user_id: account.id, created_at: nowMs });
  }

  return {
    async findOrCreate(tx, identity, mayRegister) {
      const wanted = roleOf(identity.groups, config.adminGroup);
      // All changes of roles hold this lock.
      if (wanted !== null) await database.advisoryLock(tx, 'last_admin');
      const linkedId = await findLinkedUser(tx, identity);
      const seen = await (linkedId !== undefined
        ? findAccount(tx, linkedId)
        : identity.email === null
          ? undefined
          : findAccountByEmail(tx, identity.email));
      const found = seen && (await lockAccount(tx, seen, wanted));
      const facts = found === undefined ? null : factsOf(found);
      const isLinkedToAnother =
        linkedId === undefined && found !== undefined && (await isLinked(tx, found.id, identity.issuer));
      const step = decideSignIn({
        identity,
        linked: linkedId === undefined ? null : facts,
        byEmail: linkedId === undefined && facts !== null ? { ...facts, isLinkedToAnother } : null,
        mayRegister,
      });
      if (step.kind === 'refuse') throw new ApiError(step.code);
      if (step.kind === 'register' || found === undefined) return register(tx, identity, wanted ?? 'user');
      // Accounts are changed before tokens are locked (docs/database.md, "Lock order").
      const before = { role: found.role, disabled: false };
      const role = decideRole(before, wanted, await countOtherAdmins(tx, found.id));
      if (role.kind === 'change') {
        // A former administrator could sign in as another administrator with a link that they created earlier.
        if (role.role === 'user') await endResetLinks(tx);
        await updateUser(tx, found.id, { role: role.role, updated_at: clock.nowMs() });
      }
      const isNewlyLinked = step.kind === 'link';
      if (isNewlyLinked) await link(tx, found, identity);
      return {
        account: { ...found, role: role.kind === 'change' ? role.role : found.role },
        isNewlyLinked,
        endingSessions: isNewlyLinked && found.role === 'user' ? await listActiveSessions(tx, found.id) : [],
        newRole: role.kind === 'change' ? role.role : null,
        keptLastAdmin: role.kind === 'keep_last_admin',
      };
    },
  };
}

const factsOf = ({ disabled_at, internal }: AccountRow): AccountFacts => ({
  disabled: disabled_at !== null,
  internal: internal === 1,
});
