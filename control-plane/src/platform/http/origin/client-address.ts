import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

/** The client of a request. */
export interface ClientAddress {
  /** Canonical text; an IPv4-mapped IPv6 address is its IPv4 address. */
  address: string;
  /**
   * Key for limits: the address, for IPv6 its /64, the smallest network of a household. An IPv4 client behind a
   * translator is its IPv4 address.
   */
  addressKey: string;
  /** An untrusted peer that sent X-Forwarded-For; the header was ignored. */
  untrustedForwarder: string | null;
}

/** The far end of a connection, independent of its requests. */
export interface Peer {
  addressKey: string;
  trustedProxy: boolean;
}

export interface ClientAddresses {
  of(request: IncomingMessage): ClientAddress;
  /** @param remoteAddress of the socket @returns null for a closed socket */
  peer(remoteAddress: string | undefined): Peer | null;
}

/** Real proxy chains are shorter; a longer header is not read. */
const MAX_HOPS = 32;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Block = [Address, number];

/**
 * Creates the reader of client addresses.
 *
 * The direct peer is the client, unless it is a trusted proxy: then X-Forwarded-For is read from the right, and the
 * first hop that is no trusted proxy is the client. An empty or unreadable hop, only trusted hops, or more than 32
 * hops give the peer, so a forged header can at worst name the proxy. Hops further left were written by the client
 * and are ignored.
 *
 * @param trustedProxies CIDR blocks or addresses
 * @throws for a malformed entry
 */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = trustedProxies.map(parseBlock);
  return {
    of(request) {
      const peer = parseAddress(request.socket.remoteAddress ?? '');
      // A closed connection has no peer; all of them share one limit.
      if (peer === null) return { address: 'unknown', addressKey: 'unknown', untrustedForwarder: null };
      const header = request.headers['x-forwarded-for'];
      const believed = header !== undefined && isTrusted(peer, trusted);
      const client = believed ? clientOf(peer, header, trusted) : peer;
      return {
        address: client.toString(),
        addressKey: keyOf(client),
        untrustedForwarder: header === undefined || believed ? null : peer.toString(),
      };
    },
    peer(remoteAddress) {
      const peer = parseAddress(remoteAddress ?? '');
      return peer === null
        ? null
        : { addressKey: keyOf(peer), trustedProxy: trusted.length > 0 && isTrusted(peer, trusted) };
    },
  };
}

/** The environment line that trusts a peer in addition to the trusted ones. */
export function trustLine(trustedProxies: readonly string[], peer: string): string {
  return `SERVICE_TRUSTED_PROXIES=${[...trustedProxies, peer].join(',')}`;
}

/**
 * Parses a CIDR block; an address is a block of one.
 * @throws for other texts
 */
export function parseBlock(text: string): Block {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  const [address, bits] = ipaddr.parseCIDR(cidr);
  // A mapped block means its IPv4 addresses, because peers are compared as IPv4.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) {
    return [address.toIPv4Address(), bits - 96];
  }
  return [address, bits];
}

function clientOf(peer: Address, header: string | string[], trusted: readonly Block[]): Address {
  const hops = (Array.isArray(header) ? header.join(',') : header).split(',');
  if (hops.length > MAX_HOPS) return peer;
  for (const hop of hops.reverse()) {
    const address = parseAddress(hop.trim());
    if (address === null) return peer;
    if (!isTrusted(address, trusted)) return address;
  }
  return peer;
}

function isTrusted(address: Address, trusted: readonly Block[]): boolean {
  return trusted.some(
    ([block, bits]) =>
      block.kind() === address.kind() &&
      (address.match as (block: Address, bits: number) => boolean)(block, bits),
  );
}

/** Parses an address in its common notations; null for others, such as octal or shortened IPv4. */
function parseAddress(text: string): Address | null {
  const bare = text.replace(/%.*$/, '');
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  if (!ipaddr.IPv6.isValid(bare)) return null;
  const address = ipaddr.IPv6.parse(bare);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/**
 * The prefix of translators between IPv4 and IPv6: all IPv4 clients of an IPv6 service come from this /64. Only keys map
 * it; whether a proxy is trusted is decided by its real address.
 * Source: RFC 6052, section 2.1.
 */
const TRANSLATED = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

function keyOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  if (address.match(TRANSLATED)) return new ipaddr.IPv4(address.toByteArray().slice(12)).toString();
  const network = new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toString()}/64`;
}
