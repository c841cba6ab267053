/** The decisions of the player: (model, fact) → (model, actions). Pure; see model.ts for the states. */

import { backoffMs, type Open, type SignalErrorCode } from '@footlight/protocol';
import type { ControlBye } from '@footlight/protocol/input';
import {
  MAKE_BEFORE_BREAK_MS,
  type Offer,
  RENEGOTIATE_INTERVAL_MS,
  type Renegotiate,
  reconnectRule,
  type ServiceMessage,
  SIGNAL_CLOSE,
} from '@footlight/protocol/signal';
import type { EndReason, StreamState } from '../types.ts';
import { type Action, type Ended, type Fact, INITIAL, type Model, type PeerModel } from './model.ts';

/**
 * Time limit from the token request until the socket is ready; the agent uses the same limit (HANDSHAKE_STEP_MS).
 * Chosen, not measured.
 */
const HANDSHAKE_MS = 15_000;
/** Grace period of a disconnected peer, which often recovers. The host releases the held keys after the same time. */
const DISCONNECTED_GRACE_MS = 3_000;
/**
 * Temporary errors of the service, for example while a host reconnects after a restart. A later attempt succeeds.
 */
const PASSING: ReadonlySet<Open<SignalErrorCode>> = new Set([
  'relay_unavailable',
  'rate_limited',
  'internal',
]);
/** Time limit of a requested offer. The host sends an offer at once. If no offer arrives, the socket is dead. */
const OFFER_MS = 10_000;

export interface Step {
  model: Model;
  actions: Action[];
}

export interface StepContext {
  /** monotonic */
  nowMs: number;
  /** 0 ≤ x < 1 */
  random: number;
}

/**
 * Decides the effect of a fact. Ignores facts that do not fit the state, because late answers of old sockets and peers
 * are normal.
 */
export function decide(model: Model, fact: Fact, at: StepContext): Step {
  if (fact.type === 'connect') return model.active ? stay(model) : start(model);
  if (!model.active) return stay(model);
  switch (fact.type) {
    case 'disconnect':
      return end(model, 'disconnected');
    case 'access':
      if (model.socket !== 'fetching') return stay(model);
      return {
        // The service has answered with a token, so this attempt continues.
        model: {
          ...model,
          socket: 'opening',
          unreachable: false,
          ice_servers: fact.ice_servers ?? model.ice_servers,
        },
        actions: [{ type: 'open_socket', url: fact.url }],
      };
    case 'access_failed':
      return model.socket === 'fetching' ? retryLater(model, at) : stay(model);
    case 'access_refused':
      return end(model, fact.reason, fact.code, fact.message);
    case 'socket_open':
      return model.socket === 'opening' ? greet(model) : stay(model);
    case 'socket_closed':
      return model.socket === 'closed' ? stay(model) : socketClosed(model, fact.code, at);
    case 'message':
      return receive(model, fact.message, at);
    case 'peer_state':
      return peerState(model, fact.pc_id, fact.state, at);
    case 'peer_unusable':
      return peerUnusable(model, fact.pc_id, fact.why);
    case 'frame':
      return frame(model, fact.pc_id);
    case 'stuck':
      return model.current?.pc_id === fact.pc_id ? lose(model, 'video_stuck', at) : stay(model);
    case 'silent':
      // A silence ends only the picture. ICE decides whether the connection is lost, because it recovers from a short
      // interruption.
      return model.current?.pc_id === fact.pc_id ? stay({ ...model, picture: false }) : stay(model);
    case 'reachable':
      return fact.yes ? reachable(model) : stay({ ...model, unreachable: true });
    case 'control_bye':
      return controlBye(model, fact.pc_id, fact.reason, at);
    case 'renegotiate':
      return model.last_pc_id === null ? stay(model) : requestOffer(model, 'user', at);
    case 'online':
      return online(model);
    case 'timer':
      return timer(model, fact.name, at);
  }
}

/** The public state of a model, which a page shows. */
export function publicState(model: Model): StreamState {
  if (model.ended !== null) return { kind: 'ended', ...model.ended };
  if (!model.active) return { kind: 'idle' };
  const app_launch_state = model.session?.app ?? null;
  if (model.picture) {
    return { kind: 'live', signaling: model.socket === 'ready' ? 'connected' : 'lost', app_launch_state };
  }
  if (model.had_picture) {
    const { attempt, retry_at_ms: next_at_ms } = model;
    if (model.unreachable) return { kind: 'reconnecting', attempt, why: 'network', next_at_ms };
    const why = model.socket === 'ready' ? 'media' : 'signaling';
    return { kind: 'reconnecting', attempt, why, next_at_ms };
  }
  if (model.socket === 'ready' && model.session !== null) {
    const { state, detail } = model.session;
    return { kind: 'waiting', session_state: state, state_detail: detail, app_launch_state };
  }
  return { kind: 'connecting', attempt: model.attempt };
}

const stay = (model: Model): Step => ({ model, actions: [] });

function then(first: Step, next: (model: Model) => Step): Step {
  const second = next(first.model);
  return { model: second.model, actions: [...first.actions, ...second.actions] };
}

function start(model: Model): Step {
  return fetchAccess({ ...INITIAL, active: true, ice_servers: model.ice_servers });
}

function fetchAccess(model: Model): Step {
  return {
    model: { ...model, socket: 'fetching', fault: null, retry_at_ms: null },
    actions: [{ type: 'fetch_access' }, { type: 'set_timer', name: 'handshake', ms: HANDSHAKE_MS }],
  };
}

function end(
  model: Model,
  reason: EndReason,
  code: string | null = null,
  message: string | null = null,
): Step {
  const ended: Ended = { reason, code, message };
  const peers = [model.current, model.next].filter((peer) => peer !== null);
  const actions: Action[] = [
    // Sends `bye` only if the person leaves. In all other cases the service already knows that the stream ended.
    { type: 'close_socket', bye: reason === 'disconnected' && model.socket === 'ready' },
    ...peers.map((peer): Action => ({ type: 'close_peer', pc_id: peer.pc_id })),
    ...(['retry', 'handshake', 'retire', 'grace', 'renegotiate', 'offer'] as const).map(
      (name): Action => ({ type: 'clear_timer', name }),
    ),
  ];
  return { model: { ...INITIAL, ended, session: model.session, ice_servers: model.ice_servers }, actions };
}

function retryLater(model: Model, at: StepContext): Step {
  return retry(model, backoffMs(model.attempt, at.random), at);
}

function retry(model: Model, ms: number, { nowMs }: StepContext): Step {
  return {
    model: { ...model, socket: 'closed', attempt: model.attempt + 1, retry_at_ms: nowMs + ms },
    actions: [
      { type: 'clear_timer', name: 'handshake' },
      { type: 'clear_timer', name: 'offer' },
      { type: 'set_timer', name: 'retry', ms },
    ],
  };
}

/** Resets the backoff, which grew while the network was down. */
function online(model: Model): Step {
  return model.socket === 'closed' ? again(model) : stay(model);
}

/**
 * The service answers after a silence. TCP would resend the lost data, but its retransmission delay has doubled with
 * each attempt. A new socket gets an answer at once.
 */
function reachable(model: Model): Step {
  const answered = { ...model, unreachable: false };
  if (!model.unreachable || model.picture) return stay(answered);
  return again(answered);
}

/** Starts a new attempt to open the socket. It replaces a wait or an older attempt. */
function again(model: Model): Step {
  const ending: Action[] =
    model.socket === 'closed'
      ? [{ type: 'clear_timer', name: 'retry' }]
      : [
          { type: 'close_socket', bye: false },
          { type: 'clear_timer', name: 'offer' },
          { type: 'clear_timer', name: 'renegotiate' },
        ];
  const step = fetchAccess({ ...model, attempt: 0, pending: null });
  return { ...step, actions: [...ending, ...step.actions] };
}

function greet(model: Model): Step {
  // Resumes the connection only if it still plays; without `resume` the host offers a new connection.
  const plays = model.current?.connected === true && !model.current.lost;
  const resume = plays && !model.offer_needed ? (model.current?.pc_id ?? null) : null;
  return { model: { ...model, socket: 'greeted' }, actions: [{ type: 'send_hello', resume }] };
}

function socketClosed(model: Model, code: number, at: StepContext): Step {
  const fault = model.fault;
  if (fault?.fatal && code !== SIGNAL_CLOSE.codec_unsupported && !PASSING.has(fault.code))
    return end(model, 'error', fault.code, fault.message);
  const rule = reconnectRule(code);
  if (rule === 'reload') return end(model, 'reload', String(code));
  if (rule === 'no')
    return end(model, endReasonOf(code), fault?.code ?? String(code), fault?.message ?? null);
  // After the first rejected token, a new token is requested at once; after further ones, with backoff.
  if (rule === 'new_token')
    return retry(model, model.attempt === 0 ? 0 : backoffMs(model.attempt, at.random), at);
  if (rule === 'backoff') return retryLater(model, at);
  return retry(model, Math.max(rule.afterMs, backoffMs(model.attempt, at.random)), at);
}

function endReasonOf(code: number): EndReason {
  if (code === SIGNAL_CLOSE.session_gone) return 'session_ended';
  if (code === SIGNAL_CLOSE.taken_over) return 'taken_over';
  if (code === SIGNAL_CLOSE.guest_ended) return 'guest_ended';
  if (code === SIGNAL_CLOSE.owner_away) return 'owner_away';
  if (code === SIGNAL_CLOSE.codec_unsupported) return 'codec_unsupported';
  return 'error';
}

function receive(model: Model, message: ServiceMessage, at: StepContext): Step {
  switch (message.type) {
    case 'ready': {
      if (model.socket !== 'greeted') return stay(model);
      const session = { state: message.session.state, detail: message.session.state_detail, app: null };
      const next: Model = {
        ...model,
        socket: 'ready',
        attempt: 0,
        unreachable: false,
        session: { ...session, app: model.session?.app ?? null },
        ice_servers: message.ice_servers,
        ice_expire_at_ms: message.ice_ttl_secs === undefined ? null : at.nowMs + message.ice_ttl_secs * 1000,
      };
      return {
        model: next,
        actions: [
          { type: 'clear_timer', name: 'handshake' },
          { type: 'ready', ready: message },
        ],
      };
    }
    case 'session': {
      const app = message.app_launch_state ?? model.session?.app ?? null;
      return {
        model: { ...model, session: { state: message.state, detail: message.state_detail, app } },
        // The person has not permitted the next app to listen.
        actions: message.state_detail === 'swapping' ? [{ type: 'close_microphone' }] : [],
      };
    }
    case 'offer':
      return model.socket === 'ready' ? offered(model, message, at) : stay(model);
    case 'resumed':
      return resumed(model, message.pc_id, at);
    case 'candidate': {
      const { pc_id, candidate, mid } = message;
      if (model.next?.pc_id !== pc_id && model.current?.pc_id !== pc_id) return stay(model);
      return { model, actions: [{ type: 'add_candidate', pc_id, candidate, mid }] };
    }
    case 'bye':
      // The service announces that it will close the socket. Playback continues without the socket.
      return message.reason === 'going_away' ? stay(model) : end(model, message.reason);
    case 'error':
      return serviceError(model, message, at);
  }
}

function offered(model: Model, offer: Offer, at: StepContext): Step {
  // Ignores an offer whose id is already in use. A second peer with this id would leave the first peer without an
  // owner.
  if (model.current?.pc_id === offer.pc_id || model.next?.pc_id === offer.pc_id) return stay(model);
  // The session waited long for its host. The host has newer credentials than this page.
  if (isExpired(model, at)) return again({ ...model, offer_needed: true });
  const actions: Action[] = [{ type: 'clear_timer', name: 'offer' }];
  // Replaces a connection that was never established. The connection that plays stays until the new one plays.
  if (model.next !== null) actions.push({ type: 'close_peer', pc_id: model.next.pc_id });
  actions.push({ type: 'build_peer', offer, ice_servers: model.ice_servers });
  if (model.current !== null) actions.push({ type: 'set_timer', name: 'retire', ms: MAKE_BEFORE_BREAK_MS });
  const next: PeerModel = { pc_id: offer.pc_id, connected: false, lost: false };
  return { model: { ...model, next, last_pc_id: offer.pc_id, pending: null, offer_needed: false }, actions };
}

function resumed(model: Model, pc_id: string, at: StepContext): Step {
  if (model.current?.pc_id === pc_id && !model.current.lost) return stay(model);
  // The connection was lost after the page had sent its hello.
  return requestOffer(model, 'disconnected', at);
}

function serviceError(
  model: Model,
  message: Extract<ServiceMessage, { type: 'error' }>,
  at: StepContext,
): Step {
  const fault = { code: message.code, message: message.message, fatal: message.fatal };
  const noted = { ...model, fault };
  if (message.fatal) return stay(noted);
  if (message.code === 'answer_rejected' || message.code === 'video_rejected') {
    if (model.picture) return dropNext(noted);
    // A browser without the codec rejects the video of the offer, for example a Firefox without H.264 for WebRTC.
    const reason = message.code === 'video_rejected' ? 'codec_unsupported' : 'error';
    return end(model, reason, message.code, message.message);
  }
  if (message.code !== 'ice_timeout') return stay(noted);
  const dropped = dropNext(noted);
  return dropped.model.picture ? dropped : then(dropped, (after) => requestOffer(after, 'ice_failed', at));
}

function dropNext(model: Model): Step {
  if (model.next === null) return stay(model);
  return {
    model: { ...model, next: null },
    actions: [
      { type: 'close_peer', pc_id: model.next.pc_id },
      { type: 'clear_timer', name: 'retire' },
    ],
  };
}

function peerState(model: Model, pc_id: string, state: RTCPeerConnectionState, at: StepContext): Step {
  if (model.next?.pc_id === pc_id) {
    if (state === 'connected') return promote(model);
    if (state !== 'failed' && state !== 'closed') return stay(model);
    const dropped = dropNext(model);
    return dropped.model.picture ? dropped : then(dropped, (after) => requestOffer(after, 'ice_failed', at));
  }
  if (model.current?.pc_id !== pc_id) return stay(model);
  switch (state) {
    case 'connected':
      return {
        model: { ...model, current: { ...model.current, connected: true } },
        actions: [{ type: 'clear_timer', name: 'grace' }],
      };
    case 'disconnected':
      return {
        model: { ...model, current: { ...model.current, connected: false } },
        actions: [{ type: 'set_timer', name: 'grace', ms: DISCONNECTED_GRACE_MS }],
      };
    case 'failed':
    case 'closed':
      return lose(model, 'ice_failed', at);
    default:
      return stay(model);
  }
}

function promote(model: Model): Step {
  if (model.next === null) return stay(model);
  const actions: Action[] = [{ type: 'promote', pc_id: model.next.pc_id }];
  if (model.current !== null) actions.push({ type: 'close_peer', pc_id: model.current.pc_id });
  actions.push(
    { type: 'clear_timer', name: 'retire' },
    { type: 'clear_timer', name: 'grace' },
    { type: 'clear_timer', name: 'renegotiate' },
  );
  const current = { ...model.next, connected: true };
  return { model: { ...model, current, next: null, pending: null }, actions };
}

function peerUnusable(model: Model, pc_id: string, why: string): Step {
  if (model.next?.pc_id !== pc_id) return stay(model);
  // Ends here, because a new attempt would get the same offer and fail again.
  return model.picture ? dropNext(model) : end(model, 'error', 'offer_unusable', why);
}

function frame(model: Model, pc_id: string): Step {
  if (model.current?.pc_id !== pc_id) return stay(model);
  return stay({
    ...model,
    had_picture: true,
    picture: true,
    unreachable: false,
    current: { ...model.current, lost: false },
  });
}

function lose(model: Model, reason: Renegotiate['reason'], at: StepContext): Step {
  if (model.current === null) return stay(model);
  const current = { ...model.current, connected: false, lost: true };
  const lost: Model = { ...model, current, picture: false };
  const closing: Step = { model: lost, actions: [{ type: 'close_microphone' }] };
  // Keeps the newer connection, which is already being negotiated.
  if (model.next !== null) return closing;
  return then(closing, (after) => requestOffer(after, reason, at));
}

function requestOffer(model: Model, reason: Renegotiate['reason'], at: StepContext): Step {
  if (model.last_pc_id === null) return stay(model);
  // Waits for the socket. Its next hello requests an offer, because a lost connection is not resumed.
  if (model.socket !== 'ready') return stay(model);
  const waitMs =
    model.renegotiated_at_ms === null ? 0 : model.renegotiated_at_ms + RENEGOTIATE_INTERVAL_MS - at.nowMs;
  if (waitMs > 0) {
    return {
      model: { ...model, pending: reason },
      actions: [{ type: 'set_timer', name: 'renegotiate', ms: waitMs }],
    };
  }
  const noted: Model = { ...model, pending: null, renegotiated_at_ms: at.nowMs };
  // A TURN server refuses a new connection with expired credentials. A new socket gets new credentials for the page and
  // the host, and an offer.
  if (isExpired(model, at)) return again({ ...noted, offer_needed: true });
  return {
    model: noted,
    actions: [
      { type: 'send', message: { type: 'renegotiate', pc_id: model.last_pc_id, reason } },
      { type: 'set_timer', name: 'offer', ms: OFFER_MS },
    ],
  };
}

const isExpired = ({ ice_expire_at_ms }: Model, { nowMs }: StepContext): boolean =>
  ice_expire_at_ms !== null && nowMs >= ice_expire_at_ms;

function controlBye(model: Model, pc_id: string, reason: ControlBye['reason'], at: StepContext): Step {
  if (model.current?.pc_id !== pc_id) return stay(model);
  // Ignores the message `bye` of a connection that is being replaced, because the new connection belongs to this page.
  if (model.next !== null && reason === 'taken_over') return stay(model);
  if (reason === 'error') return lose(model, 'ice_failed', at);
  return end(model, reason);
}

function timer(model: Model, name: Extract<Fact, { type: 'timer' }>['name'], at: StepContext): Step {
  switch (name) {
    case 'retry':
      if (model.socket !== 'closed') return stay(model);
      // A request that hangs leaves its TCP connection to later requests, which then wait for the next repetition of its
      // first packet. So nothing is requested until the service answers.
      return model.unreachable ? retryLater(model, at) : fetchAccess(model);
    case 'handshake': {
      if (model.socket === 'ready' || model.socket === 'closed') return stay(model);
      const closing: Step = { model, actions: [{ type: 'close_socket', bye: false }] };
      return then(closing, (after) => retryLater(after, at));
    }
    case 'offer': {
      if (model.socket !== 'ready') return stay(model);
      const closing: Step = { model, actions: [{ type: 'close_socket', bye: false }] };
      return then(closing, (after) => retryLater(after, at));
    }
    case 'retire':
      return retire(model);
    case 'grace':
      return model.current?.connected === false ? lose(model, 'disconnected', at) : stay(model);
    case 'renegotiate':
      return model.pending === null || model.next !== null
        ? stay(model)
        : requestOffer(model, model.pending, at);
  }
}

/** The two connections existed together for too long: closes the connection that does not play. */
function retire(model: Model): Step {
  if (model.next === null || model.current === null) return stay(model);
  if (model.current.connected && !model.current.lost) return dropNext(model);
  const closed: Action = { type: 'close_peer', pc_id: model.current.pc_id };
  return { model: { ...model, current: null, picture: false }, actions: [closed] };
}
