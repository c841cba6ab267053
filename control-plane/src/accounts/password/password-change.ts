import type { Body } from '@footlight/protocol/rest';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { hasPassword, type PasswordHasher } from '../sign-in/password-hasher.ts';
import { findAccount, replacePassword, revokeAllTokens } from '../store.ts';
import { passwordProblem } from './password-rule.ts';

/** Changes of a person's own password. */
export interface PasswordChange {
  /**
   * Replaces the password and revokes all tokens of the account, the caller's included. Live sessions continue.
   * @throws ApiError validation_failed, conflict, rate_limited (hash queue), invalid_credentials; in this order
   */
  change(caller: Caller, body: Body<'me.password'>, addressKey: string): Promise<void>;
}

export function createPasswordChange(platform: Platform, hasher: PasswordHasher): PasswordChange {
  const { clock, database } = platform;
  return {
    async change(caller, body, addressKey) {
      const breach = passwordProblem(body.new_password, caller);
      if (breach !== null) throw invalid(`new_${breach}`);
      const account = await findAccount(database.db, caller.userId);
      if (account !== undefined && !hasPassword(account.password_hash)) {
        throw new ApiError('conflict', {
          message: 'This account has no password. An administrator can make a link that sets one.',
        });
      }
      // The caller's token is valid, so its device is signed in.
      const request = { addressKey, knownDevice: caller.deviceId !== null };
      const stored = account?.password_hash ?? null;
      if (!(await hasher.verify(stored, body.current_password ?? '', request))) throw wrong();
      const verifiedHash = account?.password_hash ?? '';
      const newHash = await hasher.hash(body.new_password, request);
      await database.transaction(async (tx) => {
        const nowMs = clock.nowMs();
        // Of two concurrent changes the second verified a password that is no longer stored.
        const change = { userId: caller.userId, verifiedHash, newHash };
        if (!(await replacePassword(tx, change, nowMs))) throw wrong();
        await revokeAllTokens(tx, caller.userId, nowMs);
      });
    },
  };
}

const wrong = (): ApiError =>
  new ApiError('invalid_credentials', { message: 'The current password is wrong.' });
