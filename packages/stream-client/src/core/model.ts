/**
 * The player's state machine as data: state (Model), events (Fact) and effects (Action).
 *
 * Socket and peer connections fail independently. The signaling socket: closed → fetching (a token) → opening →
 * greeted (hello sent) → ready, and back to closed. The peer connections: `next` is being negotiated, `current` is
 * the newest connected one and shows the picture. Losing the socket keeps the peers; losing the picture requests a
 * new peer over the socket. `ended` releases everything.
 */
import type { AppLaunchState, Open, SessionStateName, SignalErrorCode } from '@footlight/protocol';
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
  /** delay until the next attempt to get a socket */
  | 'retry'
  /** time limit of one attempt */
  | 'handshake'
  /** time limit until the older of two peers closes */
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
  /** the picture of this connection is lost: failed, disconnected too long, or stuck */
  lost: boolean;
}

export interface Ended {
  reason: EndReason;
  code: string | null;
  message: string | null;
}

export interface Model {
  /** between connect and the end */
  active: boolean;
  ended: Ended | null;
  socket: 'closed' | 'fetching' | 'opening' | 'greeted' | 'ready';
  /** attempts since the last ready */
  attempt: number;
  /** monotonic ms of the next attempt; null: one is in progress, or none is needed */
  retry_at_ms: number | null;
  /** the service has left a question of this page (see Reachability) unanswered, so the network may be interrupted */
  unreachable: boolean;
  session: { state: SessionStateName; detail: string | null; app: AppLaunchState | null } | null;
  ice_servers: IceServer[];
  current: PeerModel | null;
  next: PeerModel | null;
  /** id of the newest offer; a renegotiation refers to it even if its connection is gone */
  last_pc_id: string | null;
  /** a picture was shown since connect */
  had_picture: boolean;
  /** a picture is shown now */
  picture: boolean;
  /** a renegotiation waits for the socket, or for its delay */
  pending: Renegotiate['reason'] | null;
  /** monotonic ms of the last sent renegotiation */
  renegotiated_at_ms: number | null;
  /** the service's last error message before a close */
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
  /** the browser could not use the offer */
  | { type: 'peer_unusable'; pc_id: string; why: string }
  | { type: 'frame'; pc_id: string }
  /** packets arrive, but no pictures are decoded */
  | { type: 'stuck'; pc_id: string }
  /** nothing has arrived for a second: no picture, no sound, no answer to a ping */
  | { type: 'silent'; pc_id: string }
  /** whether the service answers (see Reachability) */
  | { type: 'reachable'; yes: boolean }
  | { type: 'control_bye'; pc_id: string; reason: 'session_ended' | 'taken_over' | 'idle_timeout' | 'error' }
  | { type: 'renegotiate' }
  /** the browser has a network again */
  | { type: 'online' }
  | { type: 'timer'; name: TimerName };

export type Action =
  | { type: 'fetch_access' }
  | { type: 'open_socket'; url: string }
  | { type: 'close_socket'; bye: boolean }
  /** the client adds the codecs of this browser */
  | { type: 'send_hello'; resume: string | null }
  | { type: 'send'; message: BrowserMessage }
  | { type: 'ready'; ready: Ready }
  | { type: 'build_peer'; offer: Offer; ice_servers: IceServer[] }
  | { type: 'add_candidate'; pc_id: string; candidate: string; mid: string | null }
  /** this connection now shows the picture and receives the input */
  | { type: 'promote'; pc_id: string }
  | { type: 'close_peer'; pc_id: string }
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
  current: null,
  next: null,
  last_pc_id: null,
  had_picture: false,
  picture: false,
  pending: null,
  renegotiated_at_ms: null,
  fault: null,
};
