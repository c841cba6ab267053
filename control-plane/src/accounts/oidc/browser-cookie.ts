/** The cookie that binds sign-ins with the provider to the browser that started them. Pure. */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { readTokenCookies } from '../tokens/tokens.ts';

/** A person has this time to sign in at the provider, perhaps with a second factor. */
export const LOGIN_LIFETIME_MS = 10 * MINUTE_MS;

/** Largest number of sign-ins that a browser has open at the same time, each in a tab. A further one ends the oldest. */
export const MAX_OPEN_LOGINS = 4;

/**
 * With the prefix __Host-, browsers accept the cookie only from this host, so a page of a sibling domain cannot plant
 * its own sign-in. It requires TLS. Source: RFC 6265bis, section 4.1.3.2.
 */
const nameOf = (secure: boolean): string => (secure ? '__Host-service_oidc' : 'service_oidc');

/**
 * Set-Cookie of a started sign-in. The page itself sends the request that needs it, so SameSite can be Strict.
 * @param openSecrets secrets of the browser's open sign-ins, newest first
 */
export function browserCookie(
  browserSecret: string,
  openSecrets: readonly string[],
  secure: boolean,
): string {
  const value = [browserSecret, ...openSecrets].slice(0, MAX_OPEN_LOGINS).join('.');
  const maxAgeSecs = LOGIN_LIFETIME_MS / SECOND_MS;
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSecs}${secure ? '; Secure' : ''}`;
  return `${nameOf(secure)}=${value}; ${attributes}`;
}

/** Secrets of the browser's open sign-ins in a Cookie header, newest first. */
export function readBrowserSecrets(cookieHeader: string | undefined, secure: boolean): string[] {
  return readTokenCookies(cookieHeader, nameOf(secure));
}
