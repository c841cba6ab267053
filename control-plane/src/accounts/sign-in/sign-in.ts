import type { AdminUser, LoginResponse } from '@footlight/protocol/rest';
import { instant, type Tx } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import type { Platform } from '../../platform/platform.ts';
import { touchDevice } from '../devices/store.ts';
import { type AccountRow, insertToken } from '../store.ts';
import { mintToken, pageValue } from '../tokens/tokens.ts';
import type { VersionGate } from './client-version.ts';
import { hasPassword } from './password-hasher.ts';
import { storedUserAgent } from './user-agent.ts';

/** How the owner of an account can sign in. @param isLinked to a person of the identity provider */
export function signInMethods(storedHash: string, isLinked: boolean): AdminUser['sign_in_methods'] {
  return [
    ...(hasPassword(storedHash) ? (['password'] as const) : []),
    ...(isLinked ? (['oidc'] as const) : []),
  ];
}

/** Origin of a sign-in. */
interface SignInOrigin {
  /** null or empty: the token is bound to no device. */
  deviceKey: string | null | undefined;
  userAgent: string | undefined;
}

/** A new token for the account that signed in; only this answer contains it. */
export interface SignedIn {
  accessToken: string;
  expiresAtMs: number;
  response: LoginResponse;
}

/** Issues tokens to authenticated accounts. */
export interface SignIn {
  /**
   * Writes the token and its device in the given transaction.
   * @param expiresAtMs epoch milliseconds; missing: the token expires after the configured lifetime
   */
  issue(
    tx: Tx,
    account: Pick<AccountRow, 'id' | 'email' | 'username' | 'role'>,
    origin: SignInOrigin,
    expiresAtMs?: number,
  ): Promise<SignedIn>;
}

export function createSignIn(platform: Platform, versionGate: VersionGate): SignIn {
  const { clock, config, random } = platform;
  return {
    async issue(tx, account, origin, expiresAtMs = clock.nowMs() + config.accounts.tokenTtlMs) {
      const nowMs = clock.nowMs();
      const userAgent = storedUserAgent(origin.userAgent);
      const device = origin.deviceKey
        ? await touchDevice(
            tx,
            { id: random.uuid(), userId: account.id, deviceKey: origin.deviceKey, userAgent },
            nowMs,
          )
        : null;
      const accessToken = mintToken(random);
      await insertToken(
        tx,
        {
          id: random.uuid(),
          userId: account.id,
          tokenHash: sha256Hex(accessToken),
          pageHash: sha256Hex(pageValue(accessToken)),
          deviceId: device?.id ?? null,
          userAgent,
          expiresAtMs,
        },
        nowMs,
      );
      return {
        accessToken,
        expiresAtMs,
        response: {
          access_token: accessToken,
          token_type: 'Bearer',
          expires_at: instant(expiresAtMs),
          user: {
            id: account.id,
            email: account.email,
            username: account.username,
            role: account.role,
          },
          ...versionGate.advice,
        },
      };
    },
  };
}
