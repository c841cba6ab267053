/**
 * Origins of pages, and lists of origins. The service uses the same rules as the page on which a list is edited. Pure.
 */

/** Longest origin (characters). */
const MAX_ORIGIN_LENGTH = 512;
/** Largest number of entries in the list, after duplicates are removed. */
export const MAX_ORIGINS = 64;

/** An ASCII host name or bracketed IPv6 address with an optional port; no path, query, fragment or credentials. */
const ORIGIN = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/i;

/**
 * Canonical form of an origin: lower case, without default port, canonical IP literals.
 * @returns null: the text is not an http(s) origin
 * Source: RFC 6454, section 6.2; IP literals as serialized by the WHATWG URL standard.
 */
export function normaliseOrigin(text: string): string | null {
  if (text.length > MAX_ORIGIN_LENGTH) return null;
  const match = ORIGIN.exec(text);
  if (match === null) return null;
  if (match[3] !== undefined && (Number(match[3]) < 1 || Number(match[3]) > 65535)) return null;
  // The URL parser refuses malformed addresses and canonicalizes valid ones.
  return URL.canParse(text) ? new URL(text).origin : null;
}

export type OriginList =
  | { kind: 'ok'; origins: string[] }
  | { kind: 'refused'; position: number; why: 'no_origin' | 'too_many' };

/**
 * Parses a list of origins. Blanks and duplicates are dropped.
 * @returns refused: the position (from 1) of the first invalid entry, or of the 65th entry
 */
export function parseOriginList(entries: readonly string[]): OriginList {
  const origins = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const text = entry.trim();
    if (text === '') continue;
    const origin = normaliseOrigin(text);
    if (origin === null) return { kind: 'refused', position: index + 1, why: 'no_origin' };
    origins.add(origin);
    if (origins.size > MAX_ORIGINS) return { kind: 'refused', position: index + 1, why: 'too_many' };
  }
  return { kind: 'ok', origins: [...origins] };
}
