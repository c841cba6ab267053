/** Which ICE servers belong to which path of a connection test. Pure. */
import { PREFLIGHT_RUNGS, type PreflightRung } from '@footlight/protocol/preflight';
import type { PlannedRung } from '@footlight/protocol/rest';
import type { IceServer } from '@footlight/protocol/signal';

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
export function planRungs(servers: readonly IceServer[]): PlannedRung[] {
  return PREFLIGHT_RUNGS.map((rung) => {
    if (rung === 'ice_tcp') return { rung, ice_servers: [], missing: null };
    if (rung === 'udp') return { rung, ice_servers: withUrls(servers, STUN), missing: null };
    const ice_servers = withUrls(servers, TURN[rung]);
    return { rung, ice_servers, missing: ice_servers.length > 0 ? null : 'turn_server' };
  });
}

/**
 * The ICE servers for the host: a relay of its own would be another path, except in a test of a TURN server. Behind a
 * router, the host needs STUN for the public address of its fallback port.
 */
export function hostServers(rung: PreflightRung, servers: readonly IceServer[]): IceServer[] {
  switch (rung) {
    case 'udp':
    case 'ice_tcp':
      return withUrls(servers, STUN);
    default:
      return [...servers];
  }
}
