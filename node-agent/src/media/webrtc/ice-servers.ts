import type { IceServer } from '@footlight/protocol/signal';
import type { IceServer as NativeIceServer } from 'node-datachannel';

const ICE_URL =
  /^(stun|turn|turns):(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?(?:\?transport=(udp|tcp))?$/;
const DEFAULT_PORT = { stun: 3478, turn: 3478, turns: 5349 } as const;
/** Largest number of servers; more would only slow down the gathering of candidates. */
const MAX_SERVERS = 8;

/**
 * Converts browser-style ICE servers to the WebRTC library's form. Pure.
 * @returns at most eight; malformed URLs and TURN servers without credentials are skipped
 * Source: RFC 7064, RFC 7065.
 */
export function nativeIceServers(servers: readonly IceServer[]): (string | NativeIceServer)[] {
  const native: (string | NativeIceServer)[] = [];
  for (const server of servers) {
    for (const url of server.urls) {
      const match = ICE_URL.exec(url);
      if (!match || native.length === MAX_SERVERS) continue;
      const scheme = match[1] as keyof typeof DEFAULT_PORT;
      const hostname = match[2] ?? '';
      const port = match[3] ? Number(match[3]) : DEFAULT_PORT[scheme];
      if (scheme === 'stun') {
        native.push(`stun:${hostname}:${port}`);
      } else if (server.username !== undefined && server.credential !== undefined) {
        const relayType = scheme === 'turns' ? 'TurnTls' : match[4] === 'tcp' ? 'TurnTcp' : 'TurnUdp';
        native.push({ hostname, port, username: server.username, password: server.credential, relayType });
      }
    }
  }
  return native;
}
