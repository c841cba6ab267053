import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '@footlight/platform';
import { pageCookie } from '../tokens/tokens.ts';
import type { SignedIn } from './sign-in.ts';

export interface SecureFacts {
  overTls: boolean;
  headers: IncomingHttpHeaders;
}

/** Headers of a sign-in answer. */
export type SignInHeaders = (signedIn: SignedIn, request: SecureFacts) => Record<string, string>;

export function createSignInHeaders(clock: Clock): SignInHeaders {
  return ({ accessToken, expiresAtMs, response }, request) => {
    if (response.user.role !== 'admin') return {};
    return { 'set-cookie': pageCookie(accessToken, expiresAtMs, clock.nowMs(), isSecure(request)) };
  };
}

/** Whether the page cookie may have the attribute Secure. */
export function isSecure({ overTls, headers }: SecureFacts): boolean {
  return overTls || headers['x-forwarded-proto'] === 'https';
}
