/**
 * The rules of a session's peer connections: when one is offered, resumed, replaced and closed. Pure: facts in, one
 * decision out; Peers applies it.
 *
 * A connection is negotiated exactly once, so every change of the path is a new offer with a new pc_id. The former
 * connection plays on until the new one is connected (make before break).
 * Source: docs/media.md, "Connections of a viewer".
 */

import type { SignalErrorCode } from '@footlight/protocol';
import { RENEGOTIATE_INTERVAL_MS } from '@footlight/protocol/signal';
import type { PeerEnd, PeerFailure, PeerState } from './peer-state.ts';

/** The socket whose messages count. */
export interface AttachedSocket {
  /** Increases with each socket. */
  readonly conn: number;
  readonly clientId: string;
  /** Whether it got an offer. */
  readonly offered: boolean;
  /** Whether a failed handshake was already retried for it. */
  readonly retried: boolean;
}

export interface ViewerConnection {
  readonly pcId: string;
  readonly clientId: string;
  readonly state: PeerState;
  /** Its last control message is on its way; then it is closed. */
  readonly leaving: boolean;
}

export interface Negotiation {
  readonly attached: AttachedSocket | null;
  /** Oldest first. */
  readonly connections: readonly ViewerConnection[];
  /** pc_id of the newest offer, which may be closed already; null = none was made. */
  readonly newestPcId: string | null;
  /** Time of the viewer's last renegotiation that counted. */
  readonly renegotiatedAtMs: number;
}

export interface Offer {
  reason: 'first' | 'renegotiate' | 'takeover';
  /** Connections to close before the offer: two negotiations at once would compete for the viewer. */
  closes: string[];
  /**
   * Whether the host's candidates wait for the answer without a time limit, because an earlier answer on this socket
   * was too late.
   */
  isCareful: boolean;
}

type Decision = { kind: 'ignore' } | { kind: 'offer'; offer: Offer };
const IGNORE = { kind: 'ignore' } as const;

/**
 * Decides the offer or resumption for a socket's hello.
 * @param resumePcId connection that the page still has; null = none
 */
export function decideAttach(
  { attached, connections }: Negotiation,
  { conn, clientId, resumePcId }: { conn: number; clientId: string; resumePcId: string | null },
): Decision | { kind: 'resume'; pcId: string } {
  // Socket numbers grow; a message of an older one is late.
  if (attached !== null && conn <= attached.conn) return IGNORE;
  const resumable = connections.some(
    (own) =>
      own.pcId === resumePcId && own.clientId === clientId && own.state === 'connected' && !own.leaving,
  );
  if (resumable && resumePcId !== null) return { kind: 'resume', pcId: resumePcId };
  const isTakeover = connections.some((own) => own.clientId !== clientId);
  return { kind: 'offer', offer: offerOf(connections, isTakeover ? 'takeover' : 'renegotiate', false) };
}

/** A viewer's request for a new connection, from the attached socket. */
export function decideRenegotiate(negotiation: Negotiation, pcId: string, nowMs: number): Decision {
  const { attached, connections, newestPcId, renegotiatedAtMs } = negotiation;
  // A former connection was replaced; the newer offer answers the request.
  if (attached === null || pcId !== newestPcId) return IGNORE;
  if (nowMs - renegotiatedAtMs < RENEGOTIATE_INTERVAL_MS) return IGNORE;
  return { kind: 'offer', offer: offerOf(connections, 'renegotiate', attached.offered) };
}

/** Connections that a leaving viewer closes: all of its page. */
export function decideBye({ attached, connections }: Negotiation): string[] {
  return connections.filter(({ clientId }) => clientId === attached?.clientId).map(({ pcId }) => pcId);
}

/** Connections that a newly connected one replaces. takenOver = of another page, which must be told. */
export function decideConnected(
  { connections }: Negotiation,
  pcId: string,
): { pcId: string; takenOver: boolean }[] {
  const at = connections.findIndex((own) => own.pcId === pcId);
  const clientId = connections[at]?.clientId;
  return connections
    .slice(0, Math.max(at, 0))
    .map((older) => ({ pcId: older.pcId, takenOver: older.clientId !== clientId }));
}

/**
 * What follows the end of a connection, which is no longer in the list.
 * @returns error: for the viewer; offer: a failed handshake is retried once per socket, because the WebRTC library may
 *   have read the viewer's certificate before its answer
 */
export function decideEnd(
  { attached, connections, newestPcId }: Negotiation,
  pcId: string,
  why: PeerFailure | PeerEnd,
): { error: SignalErrorCode | null; offer: Offer | null } {
  if (why !== 'connection_failed' && why !== 'handshake_failed') return { error: why, offer: null };
  const isRetried =
    why === 'handshake_failed' && attached !== null && !attached.retried && pcId === newestPcId;
  return { error: null, offer: isRetried ? offerOf(connections, 'renegotiate', attached.offered) : null };
}

/**
 * Ends a replacement that has taken MAKE_BEFORE_BREAK_MS.
 * @returns connections to close; failed = the viewer must be told that the new connection did not come up
 */
export function decideReplacement({ connections, newestPcId }: Negotiation): {
  closes: string[];
  failed: boolean;
} {
  const newest = connections.find(({ pcId }) => pcId === newestPcId);
  // The new connection has already ended, and the viewer was informed.
  if (newest === undefined || newest.leaving) return { closes: [], failed: false };
  const older = connections.filter((own) => own !== newest);
  const stillPlays = electActive(older) !== null;
  if (stillPlays && newest.state !== 'connected') return { closes: [newest.pcId], failed: true };
  return { closes: older.map(({ pcId }) => pcId), failed: false };
}

/** The connection that carries input and rate control: the newest connected one; null = none. */
export function electActive(connections: readonly ViewerConnection[]): string | null {
  return connections.findLast(({ state, leaving }) => state === 'connected' && !leaving)?.pcId ?? null;
}

function offerOf(
  connections: readonly ViewerConnection[],
  reason: 'renegotiate' | 'takeover',
  isCareful: boolean,
): Offer {
  const closes = connections
    .filter(({ state }) => state === 'offered' || state === 'answered')
    .map(({ pcId }) => pcId);
  return { reason: connections.length === 0 ? 'first' : reason, closes, isCareful };
}
