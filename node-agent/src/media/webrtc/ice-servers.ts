import type { IceServer } from '@footlight/protocol/signal';
import type { IceServer as NativeIceServer } from 'node-datachannel';

const ICE_URL =
  /^(stun|turn):(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?(?:\?transport=(udp|tcp))?$/;
const DEFAULT_PORT = 3478;
/** Largest number of servers; more would only slow down the gathering of candidates. */
const MAX_SERVERS = 8;

/**
 * Converts browser-style ICE servers to the WebRTC library's form. Pure.
 * @returns at most eight; malformed URLs, TURN servers without credentials, and TURN over TCP and TLS are skipped. The
 *   library's ICE agent (libjuice) reaches TURN servers only over UDP. IPv6 addresses have no brackets, because the
 *   library would not resolve them, and would throw for a STUN server in the form of a URL.
 * Source: RFC 7064, RFC 7065.
 */
export function nativeIceServers(servers: readonly IceServer[]): NativeIceServer[] {
  const native: NativeIceServer[] = [];
  for (const server of servers) {
    for (const url of server.urls) {
      const match = ICE_URL.exec(url);
      if (!match || match[5] === 'tcp' || native.length === MAX_SERVERS) continue;
      const hostname = match[2] ?? match[3] ?? '';
      const port = match[4] ? Number(match[4]) : DEFAULT_PORT;
      if (match[1] === 'stun') {
        native.push({ hostname, port });
      } else if (server.username !== undefined && server.credential !== undefined) {
        const { username, credential: password } = server;
        native.push({ hostname, port, username, password, relayType: 'TurnUdp' });
      }
    }
  }
  return native;
}
