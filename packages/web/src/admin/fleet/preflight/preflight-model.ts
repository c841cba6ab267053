/** What the result of a connection test means, and what to do. Pure. Source: docs/address.md, "Routers and TURN". */

import type { Host, PlannedPath, Success } from '@footlight/protocol/rest';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import { NETWORK_PATH_LABELS } from '../../../components/network-path-labels.ts';
import { msg, t } from '../../../i18n/translate.ts';
import { isSentence } from '../../frame/remedy-lines.ts';
import { checkSentence } from '../readiness-labels.ts';

/** Ports on which the host takes media. */
export type HostPorts = Omit<Success<'preflight.offer'>, 'answer'>;

/**
 * Result of one path. works: `rttMs` is the median round trip in milliseconds. no_relay: the TURN server gave the browser
 * no relay. no_connection: browser and host found no path in time. missing: the server or the port of this path does not
 * exist. failed: the test itself could not be made.
 */
export type PathResult =
  | { kind: 'works'; rttMs: number }
  | { kind: 'no_relay' }
  | { kind: 'no_connection'; ports: HostPorts }
  | { kind: 'missing' }
  | { kind: 'failed'; error: unknown };

/** A path in the page. */
export type PathState = PathResult | { kind: 'waiting' | 'testing' };

export const pathName = (path: NetworkPath): string => t(NETWORK_PATH_LABELS[path]);

const PATH_AND_COST: Readonly<Record<NetworkPath, string>> = {
  udp: msg(
    'People in this network reach the host directly over UDP. This is the fastest path, and it costs nothing.',
  ),
  tcp: msg(
    'People in this network reach the host directly, but only over TCP: after each lost packet the picture waits.',
  ),
  turn_udp: msg(
    'People in this network reach the host only through the TURN server: the delay includes the way to it, and it carries the traffic of each session.',
  ),
  turn_tcp: msg(
    'People in this network reach the host only through the TURN server and TCP: the picture also waits after each lost packet.',
  ),
  turn_tls: msg(
    'People in this network reach the host only through the TURN server and TLS: the picture also waits after each lost packet.',
  ),
};

export interface PathFinding {
  tone: 'success' | 'info' | 'warning' | 'danger';
  text: string;
}

/**
 * The path that people in the browser's network will use, and its cost: the first path that works. Only the direct path
 * over UDP has no cost. If a better path could not be tested, the sentence says only that.
 * @param paths all paths in their order
 * @returns null while a path before the first working one is not tested
 */
export function pathSentence(paths: readonly { path: NetworkPath; state: PathState }[]): PathFinding | null {
  const first = paths.findIndex(({ state }) => state.kind === 'works');
  const better = first === -1 ? paths : paths.slice(0, first);
  if (better.some(({ state }) => state.kind === 'waiting' || state.kind === 'testing')) return null;
  const untested = better.filter(({ state }) => state.kind === 'failed').map(({ path }) => pathName(path));
  const used = paths[first]?.path;
  if (untested.length > 0) {
    const names = { untested: untested.join('; ') };
    if (used !== undefined)
      return {
        tone: 'info',
        text: t(
          '{path} works. Whether people in this network use it is not known, because these better paths could not be tested: {untested}.',
          { path: pathName(used), ...names },
        ),
      };
    if (better.every(({ state }) => state.kind === 'failed' || state.kind === 'missing'))
      return {
        tone: 'info',
        text: t('No path could be tested. Check that the host is online, and test again.'),
      };
    return {
      tone: 'info',
      text: t('No path that was tested works. These paths could not be tested: {untested}.', names),
    };
  }
  if (used !== undefined)
    return { tone: used === 'udp' ? 'success' : 'warning', text: t(PATH_AND_COST[used]) };
  return {
    tone: 'danger',
    text: t('People in this network get no picture from this host. The lines below say how to open a path.'),
  };
}

export interface PathFacts {
  planned: PlannedPath;
  /** Readiness checks of the host; null: not reported. */
  readiness: Host['readiness'];
}

/**
 * What to do about a path that does not work, as lines of `Remedies`: sentences, and commands for a shell. Empty for a
 * path that works, and before its test.
 */
export function adviceFor({ planned, readiness }: PathFacts, state: PathState): string[] {
  const { path } = planned;
  switch (state.kind) {
    case 'missing':
      return path === 'tcp' ? missingFallbackPort() : missingTurnServer(path);
    case 'no_relay':
      return unreachedTurnServer(planned);
    case 'no_connection':
      if (path === 'udp') return closedMediaPorts(state.ports, readiness);
      if (path === 'tcp') return closedFallbackPort(state.ports, readiness);
      return unreachedHost(path, state.ports);
    default:
      return [];
  }
}

function missingFallbackPort(): string[] {
  return [
    t('The fallback port of this host is off. To use one, set its number. On the host, as root:'),
    'SERVICE_MEDIA_FALLBACK_PORT=8444 footlight-agent install',
  ];
}

const EXAMPLE_URLS: Readonly<Partial<Record<NetworkPath, string>>> = {
  turn_udp: 'turn:turn.example.org:3478?transport=udp',
  turn_tcp: 'turn:turn.example.org:3478?transport=tcp',
  turn_tls: 'turns:turn.example.org:443?transport=tcp',
};

function missingTurnServer(path: NetworkPath): string[] {
  return [
    t(
      'Add a URL such as {url} to SERVICE_TURN_URLS of the control plane, and set SERVICE_TURN_SECRET. docs/address.md explains how to set up a TURN server.',
      { url: EXAMPLE_URLS[path] ?? '' },
    ),
  ];
}

/** Host and port of TURN URLs, for example `turn.example.org:3478`. */
function turnAddresses({ ice_servers }: PlannedPath): string {
  const addresses = ice_servers
    .flatMap(({ urls }) => urls)
    .map((url) => {
      const address = url.replace(/^turns?:/, '').replace(/\?.*$/, '');
      if (/:\d+$/.test(address)) return address;
      return `${address}:${url.startsWith('turns:') ? 5349 : 3478}`;
    });
  return [...new Set(addresses)].join(', ');
}

function unreachedTurnServer(planned: PlannedPath): string[] {
  const addresses = turnAddresses(planned);
  const protocol = planned.path === 'turn_udp' ? 'UDP' : 'TCP';
  return [
    t(
      'This browser got no relay from {addresses}. Open this {protocol} port on the TURN server and in this network.',
      {
        addresses,
        protocol,
      },
    ),
    t(
      'If the port is open, check that SERVICE_TURN_SECRET and static-auth-secret of the TURN server are the same.',
    ),
    ...(planned.path === 'turn_tls'
      ? [t("With TLS, the browser must also trust the TURN server's certificate, for the name in the URL.")]
      : []),
  ];
}

type MediaPorts = HostPorts['media_ports'];

/** The range in the syntax of ufw, or of nftables. */
function portRange({ first, last }: Pick<MediaPorts, 'first' | 'last'>, separator: ':' | '-'): string {
  return first === last ? `${first}` : `${first}${separator}${last}`;
}

function closedMediaPorts(ports: HostPorts, readiness: Host['readiness']): string[] {
  const { media_ports, fallback_port } = ports;
  const check = readiness?.find(({ id }) => id === CHECKS.udp);
  if (check?.status === 'fail' && check.remediation.length > 0 && check.remediation.every(isSentence))
    // The host has no address for media, which no firewall changes.
    return [check.summary, ...check.remediation].map(checkSentence);
  return [
    ...hostFirewall(check, 'udp', media_ports),
    t(
      'If the host is behind a router or in a cloud, forward or open the UDP ports {ports} there too, and name a STUN server in SERVICE_ICE_SERVERS of the control plane. docs/address.md has the command.',
      { ports: portRange(media_ports, '-') },
    ),
    ...(fallback_port === null
      ? []
      : [
          t('Instead of these ports, you can open only the fallback port {port} for UDP and TCP.', {
            port: fallback_port,
          }),
        ]),
    ...(media_ports.configured
      ? []
      : [
          t(
            "These are the system's ephemeral ports. For a smaller range, set SERVICE_MEDIA_PORTS. On the host, as root:",
          ),
          'SERVICE_MEDIA_PORTS=50000-50255 footlight-agent install',
        ]),
  ];
}

function closedFallbackPort({ fallback_port }: HostPorts, readiness: Host['readiness']): string[] {
  // A host without a fallback port does not offer this path.
  if (fallback_port === null) return missingFallbackPort();
  const check = readiness?.find(({ id }) => id === CHECKS.tcp);
  return [
    ...hostFirewall(check, 'tcp', { first: fallback_port, last: fallback_port }),
    t(
      'If the host is behind a router or in a cloud, forward or open the TCP port {port} there too, and name a STUN server in SERVICE_ICE_SERVERS of the control plane. docs/address.md has the command.',
      { port: fallback_port },
    ),
  ];
}

/** The host's checks of its own firewall, for media ports by UDP and for the fallback port. */
const CHECKS = { udp: 'media_reachability', tcp: 'media_fallback' } as const;

/**
 * What to do about the firewall of the host itself. If the host does not know its firewall, the commands are those of
 * both tools.
 */
function hostFirewall(
  check: NonNullable<Host['readiness']>[number] | undefined,
  transport: 'udp' | 'tcp',
  ports: Pick<MediaPorts, 'first' | 'last'>,
): string[] {
  if (check?.status === 'pass')
    return [t('The host found no firewall rule of its own that closes its ports, so look beyond the host.')];
  // The check of the fallback port may be about UDP only.
  const commands =
    check?.status === 'fail'
      ? check.remediation.filter((line) => !isSentence(line) && line.includes(transport))
      : [];
  if (commands.length > 0)
    return [
      transport === 'udp'
        ? t('The firewall of the host closes UDP ports of its media. On the host, as root:')
        : t('The firewall of the host closes its fallback port. On the host, as root:'),
      ...commands,
    ];
  return [
    t('With ufw, on the host, as root:'),
    `ufw allow ${portRange(ports, ':')}/${transport}`,
    t('With nftables, on the host, as root (the table and chain of your rules may have other names):'),
    `nft insert rule inet filter input ${transport} dport ${portRange(ports, '-')} accept`,
  ];
}

function unreachedHost(path: NetworkPath, { media_ports, fallback_port }: HostPorts): string[] {
  const ports = portRange(media_ports, '-');
  const reach =
    fallback_port === null
      ? t(
          'The TURN server answers this browser, but does not reach the host. Let it send to the UDP ports {ports} of the host.',
          { ports },
        )
      : t(
          'The TURN server answers this browser, but does not reach the host. Let it send to the UDP ports {ports} and {fallback} of the host.',
          { ports, fallback: fallback_port },
        );
  return [
    reach,
    t('On the TURN server, check denied-peer-ip and allowed-peer-ip in turnserver.conf.'),
    ...(path !== 'turn_udp' && fallback_port === null
      ? [t('Chrome and Edge can use this path only if the host has a fallback port.')]
      : []),
  ];
}
