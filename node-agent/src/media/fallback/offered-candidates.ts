/** What an offer says about the fallback port. Pure. */

import { type ParsedCandidate, parseCandidate } from '../webrtc/candidates.ts';

/**
 * Type preferences (RFC 8445, 5.1.2.1). Below that of ordinary host candidates (126), so that browsers prefer the direct
 * path, and below that of a router's public address (100 in libjuice). TCP is below UDP, because a lost packet delays
 * the later ones (RFC 6544, 4.2).
 */
const UDP_PREFERENCE = 95;
const TCP_PREFERENCE = 90;
const TYPE_SHIFT = 2 ** 24;

/**
 * The candidates with the fallback port that belong to a candidate of the host: by UDP, and by TCP on which the browser
 * connects (RFC 6544). Also for the public address of a router, because the router may forward the port.
 * @returns []: the line is no UDP candidate, or that of a relay
 */
export function fallbackCandidates(line: string, fallbackPort: number): string[] {
  const own = udpCandidate(line);
  if (own === null || own.rest.startsWith('typ relay')) return [];
  const { foundation, component, priority, address, rest } = own;
  const priorityOf = (preference: number) => preference * TYPE_SHIFT + (priority % TYPE_SHIFT);
  // Foundations are limited to 32 characters; another transport or port needs another foundation.
  const foundationOf = (transport: string) => `${foundation.slice(0, 28)}${transport}`;
  const at = `${address} ${fallbackPort} ${rest}`;
  return [
    `candidate:${foundationOf('fu')} ${component} UDP ${priorityOf(UDP_PREFERENCE)} ${at}`,
    `candidate:${foundationOf('ft')} ${component} TCP ${priorityOf(TCP_PREFERENCE)} ${at} tcptype passive`,
  ];
}

/** The UDP port of a host candidate; null: the line is no UDP host candidate. */
export function hostPort(line: string): number | null {
  const own = udpCandidate(line);
  return own?.rest.startsWith('typ host') ? own.port : null;
}

function udpCandidate(line: string): ParsedCandidate | null {
  const parsed = parseCandidate(line);
  return parsed?.transport.toLowerCase() === 'udp' ? parsed : null;
}

/**
 * Address at which programs of this host reach the WebRTC connections. With one configured address, the library binds
 * only this address; otherwise all, loopback included.
 * @param addresses configured addresses; null: all
 */
export function loopbackOf(addresses: readonly string[] | null): string {
  const [only, ...others] = addresses ?? [];
  return only !== undefined && others.length === 0 ? only : '127.0.0.1';
}

/** Fragment and password of a session description; null: it lacks one of them. */
export function iceCredentials(sdp: string): { ufrag: string; pwd: string } | null {
  const ufrag = /^a=ice-ufrag:(\S{4,256})\s*$/m.exec(sdp)?.[1];
  const pwd = /^a=ice-pwd:(\S{22,256})\s*$/m.exec(sdp)?.[1];
  return ufrag === undefined || pwd === undefined ? null : { ufrag, pwd };
}
