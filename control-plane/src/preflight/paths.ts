/** Which ICE servers belong to which path of a connection test. Pure. */

import type { PlannedPath } from '@footlight/protocol/rest';
import type { IceServer } from '@footlight/protocol/signal';
import { NETWORK_PATHS, type NetworkPath } from '@footlight/protocol/telemetry';

const STUN = /^stuns?:/;
/**
 * A TURN URL without a transport uses UDP, and with the scheme turns TLS over TCP. No browser supports turns over UDP.
 * Source: RFC 7065, 3.1.
 */
const TURN: Readonly<Record<'turn_udp' | 'turn_tcp' | 'turn_tls', RegExp>> = {
  turn_udp: /^turn:[^?]+(?:\?transport=udp)?$/,
  turn_tcp: /^turn:[^?]+\?transport=tcp$/,
  turn_tls: /^turns:[^?]+(?:\?transport=tcp)?$/,
};

/** The servers with only those URLs that match; servers without such a URL are omitted. */
function withUrls(servers: readonly IceServer[], pattern: RegExp): IceServer[] {
  return servers
    .map((server) => ({ ...server, urls: server.urls.filter((url) => pattern.test(url)) }))
    .filter(({ urls }) => urls.length > 0);
}

/**
 * The paths of a test, each with the ICE servers for the browser.
 * @param servers all ICE servers, with credentials
 */
export function planPaths(servers: readonly IceServer[]): PlannedPath[] {
  return NETWORK_PATHS.map((path) => {
    if (path === 'tcp') return { path, ice_servers: [], missing: null };
    if (path === 'udp') return { path, ice_servers: withUrls(servers, STUN), missing: null };
    const ice_servers = withUrls(servers, TURN[path]);
    return { path, ice_servers, missing: ice_servers.length > 0 ? null : 'turn_server' };
  });
}

/**
 * The ICE servers for the host: a relay of its own would be another path, except in a test of a TURN server. Behind a
 * router, the host needs STUN for the public address of its fallback port.
 */
export function hostServers(path: NetworkPath, servers: readonly IceServer[]): IceServer[] {
  switch (path) {
    case 'udp':
    case 'tcp':
      return withUrls(servers, STUN);
    default:
      return [...servers];
  }
}
