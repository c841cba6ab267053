/**
 * The player's state machine as data: state (Model), events (Fact) and effects (Action).
 *
 * The signaling socket and the peer connections fail independently. The socket: closed → fetching (a token) → opening →
 * greeted (hello sent) → ready, and from each state back to closed. Of the peer connections, `next` is being
 * negotiated, and `current` is the newest connected one, which shows the picture. If the socket is lost, the peers
 * continue. If the picture is lost, the page requests a new peer over the socket. `ended` releases everything.
 */

import type { AppLaunchState, Open, SessionStateName, SignalErrorCode } from '@footlight/protocol';
import type { ControlBye } from '@footlight/protocol/input';
import type {
  BrowserMessage,
  IceServer,
  Offer,
  Ready,
  Renegotiate,
  ServiceMessage,
} from '@footlight/protocol/signal';
import type { EndReason } from '../types.ts';

export type TimerName =
  /** delay until the next attempt to open a socket */
  | 'retry'
  /** time limit of one attempt to open a socket */
  | 'handshake'
  /** time after which one of two open peers is closed */
  | 'retire'
  /** grace period of a disconnected peer */
  | 'grace'
  /** delay of a renegotiation */
  | 'renegotiate'
  /** time limit of a requested offer */
  | 'offer';

export interface PeerModel {
  pc_id: string;
  connected: boolean;
  /** the connection shows no picture any more: it failed, was disconnected for too long, or its picture is stuck */
  lost: boolean;
}

export interface Ended {
  reason: EndReason;
  code: string | null;
  message: string | null;
}

export interface Model {
  /** connect() was called and the stream has not ended */
  active: boolean;
  ended: Ended | null;
  socket: 'closed' | 'fetching' | 'opening' | 'greeted' | 'ready';
  /** attempts since the socket was last ready */
  attempt: number;
  /** monotonic ms of the next attempt; null: an attempt is in progress, or no attempt is needed */
  retry_at_ms: number | null;
  /** the service has not answered a probe of this page (see Reachability), so the network may be interrupted */
  unreachable: boolean;
  session: { state: SessionStateName; detail: string | null; app: AppLaunchState | null } | null;
  ice_servers: IceServer[];
  /** monotonic ms at which the credentials in ice_servers expire; null: they do not expire */
  ice_expire_at_ms: number | null;
  /** the next hello must not resume the current connection, because the page needs an offer */
  offer_needed: boolean;
  current: PeerModel | null;
  next: PeerModel | null;
  /** id of the newest offer; a renegotiation names this id even if the connection no longer exists */
  last_pc_id: string | null;
  /** a picture has been shown since connect() */
  had_picture: boolean;
  /** a picture is shown now */
  picture: boolean;
  /** a renegotiation waits for the socket, or for the delay between two renegotiations */
  pending: Renegotiate['reason'] | null;
  /** monotonic ms of the last sent renegotiation */
  renegotiated_at_ms: number | null;
  /** the last error message of the service before it closed the socket */
  fault: { code: Open<SignalErrorCode>; message: string; fatal: boolean } | null;
}

export type Fact =
  | { type: 'connect' }
  | { type: 'disconnect' }
  | { type: 'access'; url: string; ice_servers: IceServer[] | null }
  | { type: 'access_failed' }
  | { type: 'access_refused'; reason: EndReason; code: string | null; message: string }
  | { type: 'socket_open' }
  | { type: 'socket_closed'; code: number }
  | { type: 'message'; message: ServiceMessage }
  | { type: 'peer_state'; pc_id: string; state: RTCPeerConnectionState }
  /** the browser could not apply the offer */
  | { type: 'peer_unusable'; pc_id: string; why: string }
  | { type: 'frame'; pc_id: string }
  /** packets arrive, but no pictures are decoded */
  | { type: 'stuck'; pc_id: string }
  /** nothing has arrived for a second: no video, no sound, no answer to a ping */
  | { type: 'silent'; pc_id: string }
  /** whether the service answers probes (see Reachability) */
  | { type: 'reachable'; yes: boolean }
  | { type: 'control_bye'; pc_id: string; reason: ControlBye['reason'] }
  | { type: 'renegotiate' }
  /** the browser reports that it has a network again */
  | { type: 'online' }
  | { type: 'timer'; name: TimerName };

export type Action =
  | { type: 'fetch_access' }
  | { type: 'open_socket'; url: string }
  | { type: 'close_socket'; bye: boolean }
  /** the client adds the codecs of this browser to the hello */
  | { type: 'send_hello'; resume: string | null }
  | { type: 'send'; message: BrowserMessage }
  | { type: 'ready'; ready: Ready }
  | { type: 'build_peer'; offer: Offer; ice_servers: IceServer[] }
  | { type: 'add_candidate'; pc_id: string; candidate: string; mid: string | null }
  /** from now on this connection shows the picture and carries the input */
  | { type: 'promote'; pc_id: string }
  | { type: 'close_peer'; pc_id: string }
  /** another app may start to listen, so the microphone is closed until the person turns it on again */
  | { type: 'close_microphone' }
  | { type: 'set_timer'; name: TimerName; ms: number }
  | { type: 'clear_timer'; name: TimerName };

export const INITIAL: Model = {
  active: false,
  ended: null,
  socket: 'closed',
  attempt: 0,
  retry_at_ms: null,
  unreachable: false,
  session: null,
  ice_servers: [],
  ice_expire_at_ms: null,
  offer_needed: false,
  current: null,
  next: null,
  last_pc_id: null,
  had_picture: false,
  picture: false,
  pending: null,
  renegotiated_at_ms: null,
  fault: null,
};
