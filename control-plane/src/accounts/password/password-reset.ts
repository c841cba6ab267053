import { DAY_MS } from '@footlight/platform';
import type { Body, Success } from '@footlight/protocol/rest';
import { instant } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import { linkAddressOf } from '../../platform/http/origin/link-address.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PasswordHasher } from '../sign-in/password-hasher.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import { findAccount, findByResetHash, revokeAllTokens, spendResetLink, storeResetLink } from '../store.ts';
import type { LoginOrigin } from '../tokens/bearer-tokens.ts';
import { mintToken } from '../tokens/tokens.ts';
import { requireStillAdmin, unknownUser } from '../users/service.ts';
import { passwordProblem } from './password-rule.ts';

/** A person has a day to find the message with the link. */
const LINK_LIFETIME_MS = DAY_MS;

/**
 * One-time links with which people set a new password without the old one. A link is live from its creation by an
 * administrator until it is used or expires. A newer link, a new password and the disabling of the account also end it.
 */
export interface PasswordReset {
  /** @throws ApiError 404; 400 when the address of this service is not known */
  link(actor: Caller, userId: string, host: string | undefined): Promise<Success<'users.passwordReset'>>;
  /**
   * Sets the password, revokes all tokens of the account and signs it in.
   * @throws ApiError unauthorized, validation_failed, rate_limited (hash queue); in this order
   */
  redeem(fields: Body<'auth.passwordReset'>, origin: LoginOrigin): Promise<SignedIn>;
}

export function createPasswordReset(
  platform: Platform,
  parts: { hasher: PasswordHasher; signIn: SignIn },
): PasswordReset {
  const { activity, clock, config, database, random } = platform;
  const { hasher, signIn } = parts;

  return {
    async link(actor, userId, host) {
      const { address, source } = linkAddressOf(config, host);
      const token = mintToken(random);
      const expiresAtMs = clock.nowMs() + LINK_LIFETIME_MS;
      await database.transaction(async (tx) => {
        await database.advisoryLock(tx, 'last_admin');
        await requireStillAdmin(tx, actor);
        const change = { userId, tokenHash: sha256Hex(token), expiresAtMs };
        if (!(await storeResetLink(tx, change))) throw unknownUser();
      });
      await activity.record(actor.userId, 'user.password_reset_link', userId);
      return {
        url: `${address}/reset?token=${token}`,
        address_source: source,
        expires_at: instant(expiresAtMs),
      };
    },

    async redeem({ token, password, device_key }, { addressKey, userAgent }) {
      const tokenHash = sha256Hex(token);
      const owner = await findByResetHash(database.db, tokenHash, clock.nowMs());
      if (owner === undefined) throw dead();
      const breach = passwordProblem(password, owner);
      if (breach !== null) throw invalid(breach);
      const newHash = await hasher.hash(password, { addressKey, knownDevice: false });
      return database.transaction(async (tx) => {
        const nowMs = clock.nowMs();
        // Of two concurrent requests with the same link the first one consumes it.
        if (!(await spendResetLink(tx, { userId: owner.id, tokenHash, newHash }, nowMs))) throw dead();
        await revokeAllTokens(tx, owner.id, nowMs);
        const account = await findAccount(tx, owner.id);
        if (account === undefined) throw dead();
        return signIn.issue(tx, account, { deviceKey: device_key, userAgent });
      });
    },
  };
}

const dead = (): ApiError =>
  new ApiError('unauthorized', { message: 'This link cannot be used: it is used, replaced or expired.' });
