import type { Body, SetupStatus } from '@footlight/protocol/rest';
import { onUniqueViolation } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { completeSetup, loadSetupCompletedAt } from '../../settings/index.ts';
import { checkNewAccount } from '../account-fields.ts';
import type { AccountsDeps } from '../deps.ts';
import type { PasswordHasher } from '../sign-in/password-hasher.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import {
  adminExists,
  duplicateAccount,
  findAccountByEmail,
  insertAccount,
  isAccountTaken,
  isUsernameTaken,
  promoteAccount,
} from '../store.ts';
import type { LoginOrigin } from '../tokens/bearer-tokens.ts';
import type { SetupToken } from './setup-token.ts';

/** Set-up of an instance that has no administrator yet. */
export interface Setup {
  status(): Promise<SetupStatus>;
  /**
   * Creates the first administrator and signs it in. The caller has already checked the setup token.
   * @throws ApiError validation_failed, setup_already_complete, rate_limited (hash queue), conflict; in this order
   */
  claim(fields: Body<'setup.claim'>, origin: LoginOrigin): Promise<SignedIn>;
  /** Stores that the wizard was finished or skipped; later calls do not change the stored time. */
  complete(): Promise<SetupStatus>;
  /**
   * While no administrator exists, creates or promotes the account that the environment names.
   * @throws when the values are invalid
   */
  bootstrap(): Promise<void>;
}

export function createSetup(
  platform: Platform,
  deps: Pick<AccountsDeps, 'grantFirstAdminApps'>,
  parts: { hasher: PasswordHasher; signIn: SignIn; setupToken: SetupToken },
): Setup {
  const { clock, config, database, logger, random } = platform;
  const { hasher, signIn, setupToken } = parts;

  async function status(): Promise<SetupStatus> {
    const [exists, completedAt] = await Promise.all([
      adminExists(database.db),
      loadSetupCompletedAt(database.db),
    ]);
    return { admin_exists: exists, setup_completed: completedAt !== null };
  }

  return {
    status,

    async claim(fields, { addressKey, userAgent }) {
      const account = checkNewAccount(fields);
      if (await adminExists(database.db)) throw new ApiError('setup_already_complete');
      const passwordHash = await hasher.hash(account.password, { addressKey, knownDevice: false });
      if (await isAccountTaken(database.db, account.email, account.username)) throw duplicateAccount();
      const userId = random.uuid();
      const signedIn = await onUniqueViolation(
        duplicateAccount,
        database.transaction(async (tx) => {
          await database.advisoryLock(tx, 'admin_claim');
          if (await adminExists(tx)) throw new ApiError('setup_already_complete');
          const { email, username } = account;
          const user = { id: userId, email, username, role: 'admin' as const };
          await insertAccount(tx, { ...user, password_hash: passwordHash }, clock.nowMs());
          await deps.grantFirstAdminApps(tx, userId);
          return signIn.issue(tx, user, { deviceKey: fields.device_key, userAgent });
        }),
      );
      await setupToken.discardFile();
      return signedIn;
    },

    async complete() {
      await completeSetup(database.db, clock.nowMs());
      return status();
    },

    async bootstrap() {
      if (config.accounts.bootstrap === null) return;
      const account = checkBootstrap(config.accounts.bootstrap);
      if (await adminExists(database.db)) return;
      const passwordHash = await hasher.hashOwn(account.password);
      const userId = random.uuid();
      const outcome = await database.transaction(async (tx) => {
        await database.advisoryLock(tx, 'admin_claim');
        if (await adminExists(tx)) return null;
        const { email, username } = account;
        if (await isUsernameTaken(tx, username, email)) {
          throw new Error('BOOTSTRAP_ADMIN_USERNAME belongs to another account');
        }
        const known = await findAccountByEmail(tx, email);
        const id = known?.id ?? userId;
        if (known) await promoteAccount(tx, id, clock.nowMs());
        else {
          const user = { id, email, username, role: 'admin' as const, password_hash: passwordHash };
          await insertAccount(tx, user, clock.nowMs());
        }
        await deps.grantFirstAdminApps(tx, id);
        return { id, promoted: known !== undefined };
      });
      if (outcome)
        logger.info({ user_id: outcome.id, promoted: outcome.promoted }, 'accounts.admin_bootstrapped');
    },
  };
}

/**
 * Applies the rules for new accounts to the environment's values. An error message names the variables and contains no
 * value.
 */
function checkBootstrap(bootstrap: { email: string; username: string; password: string }) {
  try {
    return checkNewAccount(bootstrap);
  } catch (error) {
    if (error instanceof ApiError) throw new Error(`BOOTSTRAP_ADMIN_*: ${error.message}`);
    throw error;
  }
}
