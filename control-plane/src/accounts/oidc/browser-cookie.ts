/** The cookie that binds a sign-in with the provider to the browser that started it. Pure. */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { readTokenCookies } from '../tokens/tokens.ts';

/** A person has this time to sign in at the provider, perhaps with a second factor. */
export const LOGIN_LIFETIME_MS = 10 * MINUTE_MS;

/**
 * With the prefix __Host-, browsers accept the cookie only from this host, so a page of a sibling domain cannot plant
 * its own sign-in. It requires TLS. Source: RFC 6265bis, section 4.1.3.2.
 */
const nameOf = (secure: boolean): string => (secure ? '__Host-service_oidc' : 'service_oidc');

/** Set-Cookie of a started sign-in. The page itself sends the request that needs it, so SameSite can be Strict. */
export function browserCookie(browserSecret: string, secure: boolean): string {
  const maxAgeSecs = LOGIN_LIFETIME_MS / SECOND_MS;
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSecs}${secure ? '; Secure' : ''}`;
  return `${nameOf(secure)}=${browserSecret}; ${attributes}`;
}

/** Values of the cookie in a Cookie header. */
export function readBrowserCookies(cookieHeader: string | undefined, secure: boolean): string[] {
  return readTokenCookies(cookieHeader, nameOf(secure));
}
