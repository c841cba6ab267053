/**
 * Decides what a viewer's socket may do, from facts about its session and its hello. Pure: the socket loads the facts,
 * and closes with the code that is returned.
 */
import { isTerminal, type Open, type SignalErrorCode } from '@footlight/protocol';
import {
  type BrowserMessage,
  type Hello,
  SIGNAL_PROTOCOL,
  type SignalCloseName,
} from '@footlight/protocol/signal';
import type { SignalToViewer, ViewedSession } from './subjects.ts';

/** The reason for closing a socket. */
export interface ViewerRefusal {
  close: SignalCloseName;
  /** The error message that the page receives before the close; null: the close code is sufficient. */
  error: SignalErrorCode | null;
  /** Text of the close frame. */
  why: string;
}

/**
 * Whether the session of a valid token can be watched now.
 * @param session undefined: the session was deleted
 * @param hasLink whether the session's host is connected; ignored when the session has no host
 */
export function judgeSession(
  session: Pick<ViewedSession, 'state' | 'host_id'> | undefined,
  hasLink: boolean,
): ViewerRefusal | null {
  if (session === undefined || isTerminal(session.state))
    return { close: 'session_gone', error: null, why: 'session is over' };
  if (session.host_id === null) return { close: 'no_host', error: null, why: 'session has no host yet' };
  return hasLink ? null : NO_RELAY;
}

export const NO_RELAY: ViewerRefusal = {
  close: 'relay_unavailable',
  error: 'relay_unavailable',
  why: 'the host of this session is not connected',
};

/** Whether the page supports this protocol version and plays the session's codec. Every page plays H.264. */
export function judgeHello(
  hello: Pick<Hello, 'protocol' | 'codecs'>,
  { codec }: Pick<ViewedSession['stream'], 'codec'>,
): ViewerRefusal | null {
  if (hello.protocol !== SIGNAL_PROTOCOL)
    return { close: 'protocol_unsupported', error: null, why: 'protocol version not supported' };
  if (codec !== 'h264' && !hello.codecs.includes(codec))
    return { close: 'codec_unsupported', error: 'codec_unsupported', why: `this session streams ${codec}` };
  return null;
}

/** Refuses a message out of order: hello must be the first message and is sent only once. */
export function judgeOrder(phase: 'greeting' | 'open', type: BrowserMessage['type']): ViewerRefusal | null {
  if ((phase === 'greeting') === (type === 'hello')) return null;
  return { close: 'malformed', error: 'invalid_message', why: 'hello comes first, and once' };
}

/** Whether the agent accepts viewers of the session. */
export const acceptsViewer = ({
  state,
  relay_ready,
}: Pick<ViewedSession, 'state' | 'relay_ready'>): boolean =>
  relay_ready && (state === 'starting' || state === 'running');

/**
 * Effect of another socket of the session on this one. The newest socket is the viewer; a socket of the same page is
 * replaced without a message.
 * @param mine number of this socket, and the page's id
 */
export function judgeViewer(
  mine: { conn: number; clientId: string | null },
  other: { conn: number; client_id: string },
): 'older' | 'reconnected' | 'taken_over' {
  if (other.conn <= mine.conn) return 'older';
  return other.client_id === mine.clientId ? 'reconnected' : 'taken_over';
}

/**
 * The close code after the agent's last message. After an error without a close code of its own, the connection is
 * closed with relay_unavailable.
 */
export function closeAfter(last: NonNullable<SignalToViewer['last']>): SignalCloseName {
  return last.type === 'bye' ? AFTER_BYE[last.reason] : (AFTER_ERROR.get(last.code) ?? 'relay_unavailable');
}

const AFTER_BYE = {
  taken_over: 'taken_over',
  session_ended: 'session_gone',
  host_lost: 'session_gone',
  going_away: 'relay_unavailable',
  guest_ended: 'guest_ended',
  owner_away: 'owner_away',
} as const;

const AFTER_ERROR = new Map<Open<SignalErrorCode>, SignalCloseName>([
  ['invalid_message', 'malformed'],
  ['codec_unsupported', 'codec_unsupported'],
  ['video_rejected', 'codec_unsupported'],
  ['rate_limited', 'flooded'],
]);
