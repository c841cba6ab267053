import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

/** Who a request comes from, as far as the network can tell. */
export interface ClientAddress {
  /** Canonical text; an IPv4-mapped IPv6 address is its IPv4 address. */
  address: string;
  /** What limits are kept by: the address itself, for IPv6 its /64, since a household has at least that many. */
  addressKey: string;
  /** The peer, where it sent X-Forwarded-For and is no trusted proxy: the header was not read. */
  untrustedForwarder: string | null;
}

/** Who is at the other end of a connection, whatever requests on it will say. */
export interface Peer {
  addressKey: string;
  trustedProxy: boolean;
}

export interface ClientAddresses {
  of(request: IncomingMessage): ClientAddress;
  /** @param remoteAddress of the socket. @returns null where it has none any more */
  peer(remoteAddress: string | undefined): Peer | null;
}

/** More hops than any real chain of proxies has; a longer header is not walked. */
const MAX_HOPS = 32;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Block = [Address, number];

/**
 * Makes the reader of client addresses.
 *
 * The direct peer is the client, unless it is a trusted proxy: then X-Forwarded-For is walked from the right, and the
 * first hop that is no trusted proxy is the client. Anything odd on the way (an empty or unreadable hop, only trusted
 * hops, more than 32 of them) gives the peer, so a forged header can at worst name the proxy. What stands left of the
 * answer was written by the client and is never looked at.
 *
 * @param trustedProxies CIDR blocks or bare addresses
 * @throws when one of them is malformed
 */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = trustedProxies.map(parseBlock);
  return {
    of(request) {
      const peer = parseAddress(request.socket.remoteAddress ?? '');
      // A connection that is already gone has no peer; it is limited together with others of its kind.
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

/** The line of the environment with which a peer is trusted next to those that are trusted already. */
export function trustLine(trustedProxies: readonly string[], peer: string): string {
  return `SERVICE_TRUSTED_PROXIES=${[...trustedProxies, peer].join(',')}`;
}

/**
 * Reads a CIDR block; a bare address is a block of one.
 * @throws when it is neither
 */
export function parseBlock(text: string): Block {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  const [address, bits] = ipaddr.parseCIDR(cidr);
  // A mapped block means its IPv4 addresses, for those are what peers are compared as.
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

/** Reads an address in its common notations; null for anything else, such as octal or shortened IPv4. */
function parseAddress(text: string): Address | null {
  const bare = text.replace(/%.*$/, '');
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  if (!ipaddr.IPv6.isValid(bare)) return null;
  const address = ipaddr.IPv6.parse(bare);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function keyOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  const network = new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toString()}/64`;
}
