/**
 * The rules for a session's peer connections: when a connection is offered, resumed, replaced and closed. Pure; Peers
 * applies the decisions.
 *
 * A connection is negotiated exactly once, so every change of the path needs a new offer with a new pc_id. The former
 * connection continues to play until the new one is connected (make before break). Source: docs/media.md, "Connections
 * of a viewer".
 */

import type { SignalErrorCode } from '@footlight/protocol';
import { RENEGOTIATE_INTERVAL_MS } from '@footlight/protocol/signal';
import type { PeerEnd, PeerFailure, PeerState } from './peer-state.ts';

/** The socket whose messages are handled; messages of other sockets are ignored. */
export interface AttachedSocket {
  /** Number of the socket, which increases with each new socket. */
  readonly conn: number;
  readonly clientId: string;
  /** Whether an offer was sent to this socket. */
  readonly offered: boolean;
  /** Whether a failed handshake was already retried for this socket. */
  readonly retried: boolean;
}

export interface ViewerConnection {
  readonly pcId: string;
  readonly clientId: string;
  readonly state: PeerState;
  /** Whether the connection's last control message is being sent, after which it is closed. */
  readonly leaving: boolean;
}

export interface Negotiation {
  readonly attached: AttachedSocket | null;
  /** All connections, oldest first. */
  readonly connections: readonly ViewerConnection[];
  /** pc_id of the newest offer, whose connection may be closed already; null: no offer was made. */
  readonly newestPcId: string | null;
  /** Time of the viewer's last renegotiation that was accepted. */
  readonly renegotiatedAtMs: number;
}

export interface Offer {
  reason: 'first' | 'renegotiate' | 'takeover';
  /**
   * Connections to close before the offer is sent, because two concurrent negotiations would compete for the viewer.
   */
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
 * Decides, after a socket's hello, whether to offer a new connection or to resume one.
 * @param resumePcId connection that the page still has; null: it has none
 */
export function decideAttach(
  { attached, connections }: Negotiation,
  { conn, clientId, resumePcId }: { conn: number; clientId: string; resumePcId: string | null },
): Decision | { kind: 'resume'; pcId: string } {
  // Socket numbers increase, so a message with a lower number is late and ignored.
  if (attached !== null && conn <= attached.conn) return IGNORE;
  const resumable = connections.some(
    (own) =>
      own.pcId === resumePcId && own.clientId === clientId && own.state === 'connected' && !own.leaving,
  );
  if (resumable && resumePcId !== null) return { kind: 'resume', pcId: resumePcId };
  const isTakeover = connections.some((own) => own.clientId !== clientId);
  return { kind: 'offer', offer: offerOf(connections, isTakeover ? 'takeover' : 'renegotiate', false) };
}

/** Decides about the attached viewer's request for a new connection. */
export function decideRenegotiate(negotiation: Negotiation, pcId: string, nowMs: number): Decision {
  const { attached, connections, newestPcId, renegotiatedAtMs } = negotiation;
  // The request is about a connection that was replaced. The newer offer already answers it.
  if (attached === null || pcId !== newestPcId) return IGNORE;
  if (nowMs - renegotiatedAtMs < RENEGOTIATE_INTERVAL_MS) return IGNORE;
  return { kind: 'offer', offer: offerOf(connections, 'renegotiate', attached.offered) };
}

/** Connections to close when a viewer leaves: all connections of its page. */
export function decideBye({ attached, connections }: Negotiation): string[] {
  return connections.filter(({ clientId }) => clientId === attached?.clientId).map(({ pcId }) => pcId);
}

/** Connections that a newly connected one replaces. takenOver: connections of another page, which must be informed. */
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
 * Decides what to do after the end of a connection, which is no longer in the list.
 * @returns error: a message for the viewer; offer: a new offer, because a failed handshake is retried once per socket.
 * A handshake can fail if the WebRTC library has read the viewer's certificate before its answer
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
 * Ends a replacement that is not finished after MAKE_BEFORE_BREAK_MS.
 * @returns closes: connections to close; failed: whether the viewer must be informed that the new connection failed
 */
export function decideReplacement({ connections, newestPcId }: Negotiation): {
  closes: string[];
  failed: boolean;
} {
  const newest = connections.find(({ pcId }) => pcId === newestPcId);
  // The new connection has already ended, and the viewer was already informed.
  if (newest === undefined || newest.leaving) return { closes: [], failed: false };
  const older = connections.filter((own) => own !== newest);
  const stillPlays = electActive(older) !== null;
  if (stillPlays && newest.state !== 'connected') return { closes: [newest.pcId], failed: true };
  return { closes: older.map(({ pcId }) => pcId), failed: false };
}

/** The connection that carries input and rate control: the newest connected one; null: none is connected. */
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
