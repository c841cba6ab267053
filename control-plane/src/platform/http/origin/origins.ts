import ipaddr from 'ipaddr.js';

/** Longer texts are no origin. Characters. */
const MAX_ORIGIN_LENGTH = 512;
/** Entries of the list, after duplicates collapsed. */
export const MAX_ORIGINS = 64;

/** An ASCII host or bracketed IPv6 address with an optional port; no path, query, fragment or credentials. */
const ORIGIN = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/i;

/**
 * The one form in which origins are compared: lower case, default port dropped, IP literals canonical.
 * @returns null for anything that is no http(s) origin
 * Source: RFC 6454, section 6.2; IP literals as the WHATWG URL standard serialises them.
 */
export function normaliseOrigin(text: string): string | null {
  if (text.length > MAX_ORIGIN_LENGTH) return null;
  const match = ORIGIN.exec(text);
  if (match === null) return null;
  if (match[3] !== undefined && (Number(match[3]) < 1 || Number(match[3]) > 65535)) return null;
  // The URL parser refuses hosts that look like an address and are none, and writes addresses canonically.
  return URL.canParse(text) ? new URL(text).origin : null;
}

export type OriginList =
  | { kind: 'ok'; origins: string[] }
  | { kind: 'refused'; position: number; why: 'no_origin' | 'too_many' };

/**
 * Reads a list of origins that people wrote. Blanks are dropped, duplicates collapse.
 * @returns refused with the 1-based position of the first entry that is no origin; 65 of them are one too many
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

export interface OriginVerdict {
  allowed: boolean;
  /** The list names it. */
  listed: boolean;
  /** Its authority is the one the request was sent to. */
  sameOrigin: boolean;
  /** null: no Origin header, or one that cannot be read (which is refused). */
  normalised: string | null;
}

/**
 * Whether a page of this origin may use the signaling socket. Browsers always send Origin with a handshake, so its
 * absence means no browser and hence no page that could act behind somebody's back.
 * @param origin the Origin header; undefined when absent
 * @param host the Host header
 * @param allowed normalised list in force
 */
export function judgeOrigin(facts: {
  origin: string | undefined;
  host: string | undefined;
  allowed: readonly string[];
}): OriginVerdict {
  const { origin, host, allowed } = facts;
  if (origin === undefined) return { allowed: true, listed: false, sameOrigin: false, normalised: null };
  const normalised = normaliseOrigin(origin);
  if (normalised === null) return { allowed: false, listed: false, sameOrigin: false, normalised };
  const scheme = normalised.slice(0, normalised.indexOf(':'));
  const sameOrigin = host !== undefined && normaliseOrigin(`${scheme}://${host}`) === normalised;
  const listed = allowed.includes(normalised);
  return { allowed: listed || sameOrigin, listed, sameOrigin, normalised };
}

/** Whether a host name, as a URL carries it, can only mean this very machine. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}
