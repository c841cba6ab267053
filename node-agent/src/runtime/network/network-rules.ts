import type { PortRange } from './udp-ports.ts';

/** Largest number of the host's own addresses. */
const MAX_OWN_ADDRESSES = 256;
/**
 * Largest number of connections of an app to one address; browsers open six per server. With fifteen apps at this
 * limit, the agent can still connect, because a control plane accepts a thousand connections from one address.
 */
const MAX_CONNECTIONS_TO_ONE = 64;

/**
 * Address of the resolver in an app's resolv.conf: `pasta` forwards its port 53 to the host's resolver, which may be on
 * the host's loopback. Source: RFC 7600 (192.0.0.8, the IPv4 dummy address), RFC 6666 (100::/64, discard only): no
 * machine uses these addresses.
 */
export const RESOLVER4 = '192.0.0.8';
export const RESOLVER6 = '100::8';

/**
 * Destinations that an app's packets must not reach. `pasta` connects to the same destination from the host. An app can
 * choose the interface of a socket or packet without any privilege (SO_BINDTODEVICE, IP_PKTINFO, IP_UNICAST_IF), so
 * ordinary routes do not block these destinations.
 */
const CLOSED4 = [
  // The host's loopback, and "this host".
  ...['127.0.0.0/8', '0.0.0.0/8'],
  // Metadata services of clouds and other link-local addresses. Multicast and broadcast would reach services of the
  // host.
  ...['169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
  // Metadata services of Alibaba Cloud, Azure (its DNS stays reachable through the host's resolver) and Oracle Cloud.
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'],
];
const CLOSED6 = [
  ...['::1/128', '::ffff:0:0/96', 'fe80::/10'],
  // Metadata services of AWS (fd00:ec2::254 and its neighbours) and Google Cloud.
  ...['fd00:ec2::/32', 'fd20:ce::254/128'],
  // 169.254.0.0/16 behind an address translator (RFC 6052).
  '64:ff9b::a9fe:0/112',
];

/**
 * `ip -batch` commands that enable an app's loopback, and block the destinations that the app must not reach. Pure.
 *
 * IPv4 uses XFRM policies, which do not apply to the loopback interface. Rules and routes of the routing table are not
 * enough. If a socket has chosen its interface, its packets are sent on that interface even if the table refuses their
 * destination (ip_route_output_key_hash_rcu).
 *
 * IPv6 uses rules of the routing table, which apply even if a socket has chosen its interface; XFRM would also block
 * the loopback. Only multicast has a route that precedes every rule, so it needs an XFRM policy. The policy blocks only
 * UDP, because `pasta` forwards no other multicast, and neighbour discovery needs multicast of ICMP.
 */
export function networkSetup(ownAddresses: readonly string[]): { setup4: string; setup6: string } {
  const own = ownAddresses.slice(0, MAX_OWN_ADDRESSES);
  const own4 = own.filter((address) => !address.includes(':')).map((address) => `${address}/32`);
  const own6 = own.filter((address) => address.includes(':')).map((address) => `${address}/128`);
  // Duplicates are removed, because the kernel refuses a second identical rule or policy.
  const closed4 = [...new Set([...CLOSED4, ...own4])];
  const closed6 = [...new Set([...CLOSED6, ...own6])];
  const block4 = closed4.map((address) => `xfrm policy add dst ${address} dir out action block`);
  // Priority 1: after the app's own loopback, whose table has priority 0, and before every other route.
  const prohibit6 = closed6.map((address) => `rule add pref 1 to ${address} prohibit`);
  return {
    setup4: ['link set lo up', ...block4].join('\n'),
    // UDP by its number, because a minimal Debian has no /etc/protocols.
    setup6: ['xfrm policy add dst ff00::/8 proto 17 dir out action block', ...prohibit6].join('\n'),
  };
}

/**
 * nft(8) rules for datagrams of an app: they are sent from ports of this block, and only answers are accepted. Pure.
 *
 * `pasta` binds the host's port with the same number as the app's port, on every address. Without these rules, `pasta`
 * would forward datagrams from any machine to the app, including broadcasts and multicast of the LAN.
 */
export function udpTranslation([low, high]: PortRange): string {
  return `table inet footlight {
    chain out {
      type nat hook postrouting priority srcnat
      oifname != "lo" meta l4proto udp masquerade to :${low}-${high}
    }
    chain in {
      type filter hook input priority filter
      iifname != "lo" meta l4proto udp ct state { new, invalid } drop
    }
  }`;
}

/**
 * nft(8) rules that limit an app's simultaneous connections to one address. Pure.
 *
 * For other machines, the connections of apps come from the host's address. A control plane accepts a thousand
 * connections from one address. An app that used all of them would prevent the host's agent from reconnecting.
 */
export function connectionLimits(): string {
  const limit = (family: 'ipv4' | 'ipv6', key: 'ip' | 'ip6') =>
    `oifname != "lo" meta nfproto ${family} meta l4proto tcp ct state new add @${family} { ${key} daddr ct count over ${MAX_CONNECTIONS_TO_ONE} } reject with tcp reset`;
  return `table inet footlight_limits {
    set ipv4 { type ipv4_addr; size 65535; flags dynamic; }
    set ipv6 { type ipv6_addr; size 65535; flags dynamic; }
    chain out {
      type filter hook output priority filter
      ${limit('ipv4', 'ip')}
      ${limit('ipv6', 'ip6')}
    }
  }`;
}

/** The host's resolv.conf with `pasta`'s address instead of its resolvers. Pure. */
export function appResolvConf(host: string): string {
  const lines = host.split('\n').map((line) => line.trim());
  const kept = lines.filter((line) => /^(search|domain|options|sortlist)\s/.test(line));
  const servers = lines.flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
  const has4 = servers.some((server) => !server.includes(':'));
  const has6 = servers.some((server) => server.includes(':'));
  const own = [...(has4 || !has6 ? [RESOLVER4] : []), ...(has6 ? [RESOLVER6] : [])];
  return [...own.map((server) => `nameserver ${server}`), ...kept, ''].join('\n');
}
