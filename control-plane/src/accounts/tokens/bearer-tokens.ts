import { DAY_MS, MINUTE_MS } from '@footlight/platform';
import type { Body, Success } from '@footlight/protocol/rest';
import { batchReads, instant } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { normaliseEmail } from '../account-texts.ts';
import { isSignedInDevice } from '../devices/store.ts';
import { isLinked } from '../oidc/store.ts';
import type { VersionGate } from '../sign-in/client-version.ts';
import type { PasswordHasher } from '../sign-in/password-hasher.ts';
import type { LoginAttempts } from '../sign-in/rate-limits.ts';
import { type SignedIn, type SignIn, signInMethods } from '../sign-in/sign-in.ts';
import {
  deleteDeadTokens,
  findAccount,
  findAccountByEmail,
  findLiveTokenExpiry,
  isAdminPage,
  liveTokenFinder,
  lockVerifiedAccountShared,
  revokeToken,
  touchTokens,
} from '../store.ts';
import { readPageCookies } from './tokens.ts';

/** Least time between two writes of a token's last_used_at. */
const TOUCH_EVERY_MS = MINUTE_MS;
/** Maximum tokens per janitor transaction, so that no sign-in waits long for its locks. */
const JANITOR_BATCH = 1_000;
/** Expired tokens are kept this long, for investigations and to recognize known devices (docs/people.md, "Sign-in"). */
const KEEP_EXPIRED_MS = 7 * DAY_MS;

/** Origin of a login. */
export interface LoginOrigin {
  addressKey: string;
  userAgent: string | undefined;
}

/** Bearer tokens: authentication, login, expiry. */
export interface BearerTokens {
  /** The caller of a bearer token; null for an invalid token, whatever the reason. */
  authenticate(bearer: string): Promise<Caller | null>;
  /** Whether a token is still valid; used by event streams, which stay open after the check of their request. */
  isTokenLive(tokenId: string): Promise<boolean>;
  /** Whether a Cookie header opens the administrators' pages. */
  opensAdminPages(cookieHeader: string | undefined): Promise<boolean>;
  /** @throws ApiError client_too_old, rate_limited (name, hash queue), invalid_credentials; in this order */
  login(fields: Body<'auth.login'>, origin: LoginOrigin): Promise<SignedIn>;
  logout(caller: Caller): Promise<void>;
  /** @returns the account and, for an administrator, the expiry of the presented token (epoch milliseconds) */
  readSelf(caller: Caller): Promise<Success<'me.read'> & { expiresAtMs: number | null }>;
}

export function createBearerTokens(
  platform: Platform,
  parts: { guesses: LoginAttempts; hasher: PasswordHasher; signIn: SignIn; versionGate: VersionGate },
): BearerTokens {
  const { clock, database, jobs, logger } = platform;
  const { guesses, hasher, signIn, versionGate } = parts;
  const findLiveToken = liveTokenFinder(database, () => clock.nowMs());
  // Batched, because one commit per token would delay all requests when many clients reconnect at once.
  const touch = batchReads(async (tokenIds: readonly string[]) => {
    await touchTokens(database.db, tokenIds, clock.nowMs(), TOUCH_EVERY_MS);
    return new Map<string, never>();
  });

  jobs.handle('auth.token_janitor', {
    async run({ fence, signal }) {
      const expiredBeforeMs = clock.nowMs() - KEEP_EXPIRED_MS;
      let deleted = 0;
      for (let batch = JANITOR_BATCH; batch === JANITOR_BATCH; deleted += batch) {
        signal.throwIfAborted();
        batch = await database.transaction(async (tx) => {
          await fence.check(tx);
          return deleteDeadTokens(tx, expiredBeforeMs, JANITOR_BATCH);
        });
      }
      return { state: 'succeeded', summary: { deleted } };
    },
  });

  return {
    async authenticate(bearer) {
      const token = await findLiveToken(sha256Hex(bearer));
      if (token === undefined) return null;
      const nowMs = clock.nowMs();
      if (token.last_used_at === null || nowMs - token.last_used_at >= TOUCH_EVERY_MS) {
        // The request does not wait for this write and does not fail with it, because a busy database must not block
        // reads.
        touch(token.id).catch((error: unknown) => {
          logger.debug({ err: error }, 'accounts.token_touch_failed');
        });
      }
      return {
        userId: token.user_id,
        role: token.role,
        tokenId: token.id,
        deviceId: token.device_id,
        username: token.username,
        email: token.email,
      };
    },

    async isTokenLive(tokenId) {
      return (await findLiveTokenExpiry(database.db, tokenId, clock.nowMs())) !== undefined;
    },

    async opensAdminPages(cookieHeader) {
      const values = readPageCookies(cookieHeader);
      return values.length > 0 && isAdminPage(database.db, values.map(sha256Hex), clock.nowMs());
    },

    async login(fields, { addressKey, userAgent }) {
      versionGate.checkLogin(fields.client_version);
      const email = normaliseEmail(fields.email ?? '');
      const deviceKey = fields.device_key ?? '';
      const account = await findAccountByEmail(database.db, email);
      // Also count attempts for unknown accounts, so that known and unknown accounts take the same time.
      const knownDevice = deviceKey !== '' && (await isSignedInDevice(database.db, email, deviceKey));
      const attempt = guesses.admit(sha256Hex(email), knownDevice);
      // Every failed login verifies one hash, so its duration reveals nothing about the account.
      const mayLogIn = account !== undefined && account.disabled_at === null && account.internal === 0;
      const hash = account !== undefined && account.internal === 0 ? account.password_hash : null;
      const matches = await hasher
        .verify(hash, fields.password ?? '', { addressKey, knownDevice })
        .catch((error: unknown) => {
          attempt.spare();
          throw error;
        });
      if (!mayLogIn || !matches) throw new ApiError('invalid_credentials');
      attempt.spare();
      return database.transaction(async (tx) => {
        if (!(await lockVerifiedAccountShared(tx, account))) throw new ApiError('invalid_credentials');
        return signIn.issue(tx, account, { deviceKey: fields.device_key, userAgent });
      });
    },

    async logout(caller) {
      await revokeToken(database.db, caller.tokenId, clock.nowMs());
    },

    async readSelf(caller) {
      const account = await findAccount(database.db, caller.userId);
      if (account === undefined) throw new ApiError('unauthorized');
      const { id, email, username, role, created_at } = account;
      const expiresAtMs =
        role === 'admin' ? await findLiveTokenExpiry(database.db, caller.tokenId, clock.nowMs()) : undefined;
      return {
        user: { id, email, username, role, created_at: instant(created_at) },
        sign_in_methods: signInMethods(account.password_hash, await isLinked(database.db, id)),
        expiresAtMs: expiresAtMs ?? null,
      };
    },
  };
}
