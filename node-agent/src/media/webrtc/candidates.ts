/**
 * Decides to which addresses a viewer may make this host send UDP packets. Pure. A remote party chooses the addresses
 * in its candidates, so addresses of this host and of several receivers (multicast, broadcast) are refused.
 */

import { MAX_CANDIDATE_BYTES, MAX_CANDIDATES } from '@footlight/protocol/signal';
import ipaddr from 'ipaddr.js';

export interface ParsedCandidate {
  foundation: string;
  component: number;
  transport: string;
  priority: number;
  address: string;
  port: number;
  /** The rest of the line after the port: "typ host …". */
  rest: string;
}

export type CandidateVerdict =
  | { kind: 'use'; candidate: ParsedCandidate }
  /** A name that must be resolved by multicast DNS before its address can be checked. */
  | { kind: 'resolve'; candidate: ParsedCandidate; name: string }
  | { kind: 'end' }
  | { kind: 'refuse'; why: 'malformed' | 'transport' | 'address' | 'surplus' };

const CANDIDATE =
  /^(?:a=)?candidate:([A-Za-z0-9+/]{1,32}) (\d{1,3}) ([A-Za-z-]{1,8}) (\d{1,10}) ([^\s]{1,255}) (\d{1,5}) (typ [a-z]+.*)$/;
const LOCAL_NAME = /^[A-Za-z0-9-]{1,63}\.local$/i;

const REFUSED_RANGES = new Set(['loopback', 'linkLocal', 'multicast', 'unspecified', 'broadcast']);

/** Checks one candidate line; "" means the end of candidates. */
export function judgeCandidate(line: string): CandidateVerdict {
  if (line === '') return { kind: 'end' };
  if (line.length > MAX_CANDIDATE_BYTES) return { kind: 'refuse', why: 'malformed' };
  const candidate = parseCandidate(line.trim());
  if (!candidate) return { kind: 'refuse', why: 'malformed' };
  if (candidate.transport.toLowerCase() !== 'udp') return { kind: 'refuse', why: 'transport' };
  if (LOCAL_NAME.test(candidate.address)) {
    return { kind: 'resolve', candidate, name: candidate.address.toLowerCase() };
  }
  return isAllowedAddress(candidate.address)
    ? { kind: 'use', candidate }
    : { kind: 'refuse', why: 'address' };
}

/** @returns null: the line has another form. Source: RFC 8839, 5.1. */
export function parseCandidate(line: string): ParsedCandidate | null {
  const match = CANDIDATE.exec(line);
  if (!match) return null;
  const [, foundation = '', component, transport = '', priority, address = '', port, rest = ''] = match;
  const portNumber = Number(port);
  if (portNumber < 1 || portNumber > 65535 || hasControls(rest)) return null;
  return {
    foundation,
    component: Number(component),
    transport,
    priority: Number(priority),
    address,
    port: portNumber,
    rest,
  };
}

/** Whether a text contains a control character. */
export function hasControls(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) < 0x20) return true;
  return false;
}

/** The candidate as an attribute value, with an address instead of a name. */
export function candidateLine(candidate: ParsedCandidate, address = candidate.address): string {
  const { foundation, component, transport, priority, port, rest } = candidate;
  return `candidate:${foundation} ${component} ${transport} ${priority} ${address} ${port} ${rest}`;
}

/** Whether an address may be used; false for names, and for addresses of this host or of several receivers. */
export function isAllowedAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || address.includes('%')) return false;
  // Refused, because resolvers interpret octal and shortened forms differently.
  if (!address.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(address)) return false;
  const parsed = ipaddr.process(address);
  if (REFUSED_RANGES.has(parsed.range())) return false;
  if (parsed instanceof ipaddr.IPv6 && isEmbeddedRefused(parsed)) return false;
  return true;
}

/**
 * IPv6 addresses with an embedded IPv4 address reach the IPv4 address through a translator, so this address is checked
 * too.
 */
function isEmbeddedRefused(address: ipaddr.IPv6): boolean {
  const range = address.range();
  if (range !== 'rfc6145' && range !== 'rfc6052' && range !== '6to4') return false;
  const bytes = address.toByteArray();
  const embedded = range === '6to4' ? bytes.slice(2, 6) : bytes.slice(12, 16);
  return REFUSED_RANGES.has(new ipaddr.IPv4(embedded).range());
}

/**
 * Whether a candidate that the host has gathered may be offered: it must use UDP, and its address must be allowed. Of
 * the host's own addresses, only the configured ones are offered.
 * @param addresses configured addresses; null: all
 */
export function isOfferable(line: string, addresses: readonly string[] | null): boolean {
  const parsed = parseCandidate(line);
  if (parsed?.transport.toLowerCase() !== 'udp') return false;
  // The configured addresses do not matter for a relay, because its address belongs to another machine.
  if (!parsed.rest.startsWith('typ host')) return true;
  return isAllowedAddress(parsed.address) && (addresses === null || addresses.includes(parsed.address));
}

/** Counts the candidates of one peer connection; only the first 64 are handled. */
export class CandidateBudget {
  #seen = 0;

  take(): boolean {
    if (this.#seen >= MAX_CANDIDATES) return false;
    this.#seen++;
    return true;
  }
}
