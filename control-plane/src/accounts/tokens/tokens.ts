import { createHash } from 'node:crypto';
import type { Random } from '@footlight/platform';

/** 256 random bits cannot be guessed, so a fast hash is enough to store them. */
const TOKEN_BYTES = 32;
const HEX_SECRET_BYTES = 32;

/** A bearer token: 32 random bytes, base64url without padding (43 characters). */
export function mintToken(random: Random): string {
  return random.bytes(TOKEN_BYTES).toString('base64url');
}

/** A secret of this service for operators: 32 random bytes in hex (64 characters), easy to copy by hand. */
export function mintHexSecret(random: Random): string {
  return random.bytes(HEX_SECRET_BYTES).toString('hex');
}

/**
 * Value of the page cookie of an access token. It is derived one-way from the token, so GET /v1/me can repeat it
 * without a write.
 */
export function pageValue(accessToken: string): string {
  return createHash('sha256').update(`page:${accessToken}`).digest('base64url');
}

const PAGE_COOKIE = 'service_page';
const ATTRIBUTES = 'Path=/admin; HttpOnly; SameSite=Strict';

/**
 * Set-Cookie for the administrators' documents and scripts; it gives no access to API operations.
 * @param expiresAtMs expiry of the access token, epoch milliseconds
 * @param secure the request used TLS, here or at a proxy
 */
export function pageCookie(accessToken: string, expiresAtMs: number, nowMs: number, secure: boolean): string {
  const maxAgeSecs = Math.max(0, Math.floor((expiresAtMs - nowMs) / 1000));
  return `${PAGE_COOKIE}=${pageValue(accessToken)}; ${ATTRIBUTES}; Max-Age=${maxAgeSecs}${secure ? '; Secure' : ''}`;
}

/** Set-Cookie that deletes the page cookie. */
export function clearedPageCookie(secure: boolean): string {
  return `${PAGE_COOKIE}=; ${ATTRIBUTES}; Max-Age=0${secure ? '; Secure' : ''}`;
}

/** Form of a token, and of a digest as text: 32 bytes, base64url without padding. */
const TOKEN_VALUE = /^[A-Za-z0-9_-]{43}$/;
/**
 * Maximum number of cookie values that are looked up for one request. A browser sends one value for each domain and
 * path that set the cookie, and longer paths come first. Another service below the same domain can set all of these
 * values.
 */
const MAX_COOKIE_VALUES = 32;

/** Values of the page cookie in a Cookie header that have the right form. */
export const readPageCookies = (cookieHeader: string | undefined): string[] =>
  readTokenCookies(cookieHeader, PAGE_COOKIE);

/**
 * Tokens in the values of a cookie in a Cookie header; one value may have several tokens with dots between them.
 * Browsers send a cookie to all ports of a host, and one service can set a cookie for all sub-domains. A cookie of the
 * same name from another service on the host must not lock people out. Source: RFC 6265, section 8.5 and 8.6.
 */
export function readTokenCookies(cookieHeader: string | undefined, name: string): string[] {
  const values = new Set<string>();
  for (const pair of cookieHeader?.split(';') ?? []) {
    const split = pair.indexOf('=');
    if (split < 0 || pair.slice(0, split).trim() !== name) continue;
    for (const value of pair
      .slice(split + 1)
      .trim()
      .split('.', MAX_COOKIE_VALUES))
      if (TOKEN_VALUE.test(value)) values.add(value);
    if (values.size >= MAX_COOKIE_VALUES) break;
  }
  return [...values].slice(0, MAX_COOKIE_VALUES);
}
