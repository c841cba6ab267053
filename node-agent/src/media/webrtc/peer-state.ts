/**
 * States of one peer connection and their transitions. Pure.
 *
 *   offered ──answer──► answered ──ICE and DTLS──► connected ⇄ interrupted
 *      └───────────────────┴──── refusal, time-out, failure, close() ────┴──► closed
 */

export type PeerState = 'offered' | 'answered' | 'connected' | 'interrupted' | 'closed';

/** Why a negotiation ended. Each reason is an error code of signaling. */
export type PeerFailure = 'ice_timeout' | 'video_rejected' | 'answer_rejected';

/** How the library's connection ended: during the handshake, or later. */
export type PeerEnd = 'handshake_failed' | 'connection_failed';

export type PeerMove = { to: 'connected' } | { to: 'interrupted' } | { to: 'closed'; end: PeerEnd };

/**
 * The transition that a state of the library's connection causes.
 * @param reported state of RTCPeerConnection
 * @returns null: no transition, for example for "new" and "connecting"
 */
export function decideMove(state: PeerState, reported: string): PeerMove | null {
  if (state === 'closed') return null;
  switch (reported) {
    case 'connected':
      return { to: 'connected' };
    case 'disconnected':
      // Before the connection was connected, an interruption is ignored, because the time limit of the step applies.
      return state === 'connected' ? { to: 'interrupted' } : null;
    case 'failed':
    case 'closed':
      return { to: 'closed', end: state === 'answered' ? 'handshake_failed' : 'connection_failed' };
    default:
      return null;
  }
}
