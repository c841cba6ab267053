import ipaddr from 'ipaddr.js';

type Block = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

const blocks = (...list: string[]): readonly Block[] => list.map((text) => ipaddr.parseCIDR(text));

/**
 * IPv4 ranges that contain no public servers. Source: the IANA registry of special-purpose addresses, multicast, class
 * E.
 */
const SPECIAL_V4 = blocks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);

/** The global IPv6 range; addresses outside of it are loopback, local, multicast or reserved. */
const GLOBAL_V6 = blocks('2000::/3');
/** Parts of the global range for protocols (Teredo, ORCHID), documentation, or embedded IPv4 addresses (6to4). */
const SPECIAL_V6 = blocks('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** IPv6 ranges whose last 32 bits are the IPv4 address that is really used. */
const EMBEDDED_V4 = blocks('::ffff:0:0/96', '64:ff9b::/96');

const isIn = (address: ipaddr.IPv4 | ipaddr.IPv6, list: readonly Block[]): boolean =>
  list.some((block) => block[0].kind() === address.kind() && address.match(block as [ipaddr.IPv6, number]));

/**
 * Whether an address belongs to a public server, not to this machine or its networks.
 * @param text an IP address from a resolver or socket; any other text is not public
 */
export function isPublicAddress(text: string): boolean {
  // A zone marks a link-local address.
  if (text.includes('%') || !ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return !isIn(address, SPECIAL_V4);
  if (isIn(address, EMBEDDED_V4)) {
    const embedded = new ipaddr.IPv4(address.toByteArray().slice(12));
    return !isIn(embedded, SPECIAL_V4);
  }
  return isIn(address, GLOBAL_V6) && !isIn(address, SPECIAL_V6);
}
