import type { Body, User } from '@footlight/protocol/rest';
import { instant, onUniqueViolation } from '../platform/database/index.ts';
import { sha256Hex } from '../platform/digest.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { loadRegistrationMode } from '../settings/index.ts';
import { checkNewAccount } from './account-fields.ts';
import { isInviteRedeemable, redeemInvite } from './invites/store.ts';
import type { PasswordHasher } from './sign-in/password-hasher.ts';
import { duplicateAccount, insertAccount } from './store.ts';

/** Creates an account for a person who registers. */
export interface Registration {
  /**
   * @throws ApiError validation_failed, registration_closed, invalid_invite, rate_limited (hash queue), conflict; in
   * this order
   */
  register(fields: Body<'auth.register'>, addressKey: string): Promise<User>;
}

export function createRegistration(platform: Platform, hasher: PasswordHasher): Registration {
  const { clock, database, random } = platform;
  return {
    async register(fields, addressKey) {
      const account = checkNewAccount(fields);
      const mode = await loadRegistrationMode(database.db);
      if (mode === 'closed') throw new ApiError('registration_closed');
      const codeHash = mode === 'invite_only' ? sha256Hex(fields.invite_code ?? '') : null;
      // A cheap check before the expensive hash. The conditional increment below makes the decision.
      if (codeHash !== null && !(await isInviteRedeemable(database.db, codeHash, clock.nowMs()))) {
        throw new ApiError('invalid_invite');
      }
      const passwordHash = await hasher.hash(account.password, { addressKey, knownDevice: false });
      const userId = random.uuid();
      // When the account is refused, the rollback restores the use of the invite.
      return onUniqueViolation(
        duplicateAccount,
        database.transaction(async (tx) => {
          const nowMs = clock.nowMs();
          const invite =
            codeHash === null ? { role: 'user' as const } : await redeemInvite(tx, codeHash, nowMs);
          if (invite === undefined) throw new ApiError('invalid_invite');
          const { email, username } = account;
          const user = { id: userId, email, username, role: invite.role };
          await insertAccount(tx, { ...user, password_hash: passwordHash }, nowMs);
          return { ...user, created_at: instant(nowMs) };
        }),
      );
    },
  };
}
