import { createHash } from 'node:crypto';
import { MINUTE_MS, WindowCounter } from '@footlight/platform';
import type { Body } from '@footlight/protocol/rest';
import type { OidcConfig } from '../../platform/config/config.ts';
import { isUniqueViolation } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError } from '../../platform/errors.ts';
import { LOG_LINES_PER_MINUTE } from '../../platform/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import { loadRegistrationMode } from '../../settings/index.ts';
import type { AccountsDeps } from '../deps.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import { adminExists, duplicateAccount } from '../store.ts';
import { mintToken } from '../tokens/tokens.ts';
import { LOGIN_LIFETIME_MS } from './browser-cookie.ts';
import { readIdentity } from './identity.ts';
import { createPersonAccounts } from './person-accounts.ts';
import { createOidcProvider, type LoginChecks, ProviderFailure } from './provider.ts';
import { insertLogin, spendLogin } from './store.ts';

/**
 * A unique violation means that another sign-in or registration was faster. The second attempt sees its account, and
 * the third one is for another one with the same name.
 */
const MAX_ATTEMPTS = 3;

/**
 * Sign-in with an OpenID Connect provider, by the code flow with PKCE.
 *
 * A start gives the browser a secret in a cookie and a state in the provider's address. Nonce and PKCE verifier are
 * derived from both, and the database stores one hash of both. So an answer is accepted once, only from the browser that
 * started the sign-in, and by any replica.
 */
export interface Oidc {
  /**
   * @returns url: address at the provider; browserSecret: secret for the browser's cookie
   * @throws ApiError conflict, provider_unavailable; in this order
   */
  start(): Promise<{ url: string; browserSecret: string }>;
  /**
   * Signs the person in. The first sign-in links or creates an account.
   * @param browserSecrets secrets in the browser's cookie
   * @throws ApiError sign_in_expired, provider_unavailable, sign_in_not_confirmed, then the refusals of decideSignIn,
   *   conflict
   */
  finish(
    body: Body<'auth.oidcFinish'>,
    origin: { browserSecrets: readonly string[]; userAgent: string | undefined },
  ): Promise<SignedIn>;
}

export function createOidc(
  platform: Platform,
  config: OidcConfig,
  signIn: SignIn,
  deps: Pick<AccountsDeps, 'stopSessions'>,
): Oidc {
  const { activity, clock, database, logger, random } = platform;
  const provider = createOidcProvider(config, clock);
  const accounts = createPersonAccounts(platform, config);
  const failureLines = new WindowCounter(LOG_LINES_PER_MINUTE, MINUTE_MS);

  function logFailure(reason: string): void {
    if (failureLines.take(clock.monotonicMs())) logger.warn({ reason }, 'accounts.oidc_failed');
  }

  async function fromProvider<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      logFailure(error.reason);
      throw new ApiError(error.kind === 'unavailable' ? 'provider_unavailable' : 'sign_in_not_confirmed');
    }
  }

  /** Repeats the transaction after a unique violation of a concurrent sign-in or registration. */
  async function onceUnique<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        if (attempt === MAX_ATTEMPTS) throw duplicateAccount();
      }
    }
  }

  return {
    async start() {
      // Without this check, the first administrator could get the role without the setup token.
      if (!(await adminExists(database.db))) {
        throw new ApiError('conflict', { message: 'This instance has not been claimed yet. Open /setup.' });
      }
      const [browserSecret, state] = [mintToken(random), mintToken(random)];
      const url = await fromProvider(provider.authorizationUrl(checksOf(browserSecret, state)));
      const nowMs = clock.nowMs();
      const login = { loginHash: loginHash(browserSecret, state), expiresAtMs: nowMs + LOGIN_LIFETIME_MS };
      await database.transaction((tx) => insertLogin(tx, login, nowMs));
      return { url, browserSecret };
    },

    async finish({ answer, device_key }, { browserSecrets, userAgent }) {
      const state = new URLSearchParams(answer).get('state') ?? '';
      const secrets = new Map(browserSecrets.map((secret) => [loginHash(secret, state), secret]));
      const spent =
        secrets.size === 0 ? undefined : await spendLogin(database.db, [...secrets.keys()], clock.nowMs());
      const browserSecret = spent === undefined ? undefined : secrets.get(spent);
      if (browserSecret === undefined) throw new ApiError('sign_in_expired');
      const claims = await fromProvider(provider.redeem(answer, checksOf(browserSecret, state)));
      const identity = readIdentity(claims, config.groupsClaim);
      const mayRegister =
        config.registration === 'always' ||
        (config.registration === 'setting' && (await loadRegistrationMode(database.db)) === 'open');
      const { match, signedIn } = await onceUnique(() =>
        database.transaction(async (tx) => {
          const found = await accounts.findOrCreate(tx, identity, mayRegister);
          const origin = { deviceKey: device_key, userAgent };
          return { match: found, signedIn: await signIn.issue(tx, found.account, origin) };
        }),
      ).catch((error: unknown) => {
        if (error instanceof ApiError) logFailure(error.code);
        throw error;
      });
      const { id } = match.account;
      if (match.isNewlyLinked) await activity.record(id, 'user.linked', id);
      if (match.endingSessions.length > 0) await deps.stopSessions(match.endingSessions, 'device_revoked');
      if (match.newRole !== null)
        await activity.record(null, 'user.role_changed', id, { role: match.newRole });
      if (match.keptLastAdmin) logger.warn({ user_id: id }, 'accounts.oidc_last_admin_kept');
      return signedIn;
    },
  };
}

const loginHash = (browserSecret: string, state: string): string => sha256Hex(`${browserSecret}.${state}`);

/** Nonce and verifier of a sign-in. Only the browser's secret makes them unpredictable. */
function checksOf(browserSecret: string, state: string): LoginChecks {
  const derive = (purpose: string): string =>
    createHash('sha256').update(`${purpose}:${browserSecret}.${state}`).digest('base64url');
  return { state, nonce: derive('nonce'), verifier: derive('verifier') };
}
