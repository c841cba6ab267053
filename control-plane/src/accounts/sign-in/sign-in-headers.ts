import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '@footlight/platform';
import { pageCookie } from '../tokens/tokens.ts';
import type { SignedIn } from './sign-in.ts';

export interface SecureFacts {
  overTls: boolean;
  headers: IncomingHttpHeaders;
}

/** Headers of an answer that signs somebody in. */
export type SignInHeaders = (signedIn: SignedIn, request: SecureFacts) => Record<string, string>;

export function createSignInHeaders(clock: Clock): SignInHeaders {
  return ({ accessToken, expiresAtMs, response }, request) => {
    // The token in the body is shown this once and must not lie in any cache.
    const unstored = { 'cache-control': 'no-store' };
    if (response.user.role !== 'admin') return unstored;
    const cookie = pageCookie(accessToken, expiresAtMs, clock.nowMs(), isSecure(request));
    return { ...unstored, 'set-cookie': cookie };
  };
}

/** Whether the browser may be told to send the page cookie over TLS only. */
export function isSecure({ overTls, headers }: SecureFacts): boolean {
  return overTls || headers['x-forwarded-proto'] === 'https';
}
