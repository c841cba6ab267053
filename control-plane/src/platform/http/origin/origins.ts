/** Decides which origins may open the signaling socket. Pure. */
import { normaliseOrigin } from '@footlight/protocol/origins';
import ipaddr from 'ipaddr.js';

export interface OriginCheck {
  allowed: boolean;
  /** Whether the list contains the origin. */
  listed: boolean;
  /** Whether the origin's authority equals the request's Host. */
  sameOrigin: boolean;
  /** The origin in normalized form; null: the header is missing, or unreadable (which is refused). */
  normalised: string | null;
}

/**
 * Whether a page of this origin may open the signaling socket. Browsers always send Origin with a handshake, so a
 * request without Origin does not come from a page.
 * @param origin the Origin header; undefined if missing
 * @param host the Host header
 * @param allowed the current list, normalized
 */
export function checkOrigin(facts: {
  origin: string | undefined;
  host: string | undefined;
  allowed: readonly string[];
}): OriginCheck {
  const { origin, host, allowed } = facts;
  if (origin === undefined) return { allowed: true, listed: false, sameOrigin: false, normalised: null };
  const normalised = normaliseOrigin(origin);
  if (normalised === null) return { allowed: false, listed: false, sameOrigin: false, normalised };
  const scheme = normalised.slice(0, normalised.indexOf(':'));
  const sameOrigin = host !== undefined && normaliseOrigin(`${scheme}://${host}`) === normalised;
  const listed = allowed.includes(normalised);
  return { allowed: listed || sameOrigin, listed, sameOrigin, normalised };
}

/** Whether a host name of a URL always means this machine. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}
