import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The client of a request. */
export interface ClientAddress {
  /** Canonical text; an IPv4-mapped IPv6 address is given as IPv4. */
  address: string;
  /**
   * Key for rate limits: the IPv4 address, or the /64 of an IPv6 address, which is the smallest network of a household.
   * An IPv4 client behind an IPv4/IPv6 translator has its IPv4 address as key.
   */
  addressKey: string;
  /** Address of an untrusted peer that sent X-Forwarded-For; the header was ignored. null: there is none. */
  untrustedForwarder: string | null;
}

/** The direct peer of a connection, read from the socket and not from headers. */
export interface Peer {
  addressKey: string;
  trustedProxy: boolean;
}

/** The parts of a request that show its client. */
type ClientRequest = Pick<IncomingMessage, 'headers'> & { socket: Pick<Socket, 'remoteAddress'> };

export interface ClientAddresses {
  of(request: ClientRequest): ClientAddress;
  /** @param remoteAddress remote address of the socket @returns null for a closed socket */
  peer(remoteAddress: string | undefined): Peer | null;
}

/** Real proxy chains are shorter; a longer header is not read. */
const MAX_HOPS = 32;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Block = [Address, number];

/**
 * Creates the functions that find client addresses.
 *
 * The direct peer is the client, unless it is a trusted proxy: then X-Forwarded-For is read from the right, and the
 * first hop that is no trusted proxy is the client. If a hop is empty or unreadable, if all hops are trusted, or if
 * there are more than 32, the peer is used as the client. A forged header can therefore only make the client look like
 * the proxy. Hops further left were written by the client and are ignored.
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

/** The environment line with which a peer is also trusted. */
export function trustLine(trustedProxies: readonly string[], peer: string): string {
  return `SERVICE_TRUSTED_PROXIES=${[...trustedProxies, peer].join(',')}`;
}

/**
 * Parses a CIDR block; a single address is a block with one member.
 * @throws for other texts
 */
export function parseBlock(text: string): Block {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  const [address, bits] = ipaddr.parseCIDR(cidr);
  // A block of mapped addresses is converted to IPv4, because peers are compared as IPv4.
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

/** Parses an address in its common notations; null for other texts, such as octal or shortened IPv4 addresses. */
function parseAddress(text: string): Address | null {
  const bare = text.replace(/%.*$/, '');
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  if (!ipaddr.IPv6.isValid(bare)) return null;
  const address = ipaddr.IPv6.parse(bare);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/**
 * Prefix of IPv4/IPv6 translators: all IPv4 clients of an IPv6 service come from this /64. Only address keys convert
 * it; the check for trusted proxies uses the real address. Source: RFC 6052, section 2.1.
 */
const TRANSLATED = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

function keyOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  if (address.match(TRANSLATED)) return new ipaddr.IPv4(address.toByteArray().slice(12)).toString();
  const network = new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toString()}/64`;
}
