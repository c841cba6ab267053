/**
 * One viewer's signaling socket.
 *
 * authorizing: the token is being consumed. greeting: waits for the page's hello. open: `ready` was sent; changes of
 * the session follow, and from the agent's step "starting encoder" the socket is attached and frames are relayed.
 * closed: by the page, a limit, a later viewer, the end of the session, or a lost link of the host. Closing ends
 * neither session nor picture; the agent is told and keeps the peer connection.
 */
import { isUtf8 } from 'node:buffer';
import { SECOND_MS, type Timer } from '@footlight/platform';
import { type ControlSignal, RELAY_QUEUE_BYTES, RELAY_QUEUE_MESSAGES } from '@footlight/protocol/agent';
import {
  type BrowserMessage,
  encodeServiceFrame,
  type Hello,
  type IceServer,
  MAX_SIGNAL_FRAME_BYTES,
  relayBrowserFrame,
  type ServiceMessage,
  SIGNAL_CLOSE,
  SIGNAL_HELLO_TIMEOUT_MS,
  SIGNAL_PING_INTERVAL_MS,
  SIGNAL_PROTOCOL,
  SIGNAL_READ_TIMEOUT_MS,
  type SignalErrorCode,
} from '@footlight/protocol/signal';
import type { RawData, WebSocket } from 'ws';
import type { Fleet } from '../fleet/index.ts';
import type { Subscription } from '../platform/bus.ts';
import type { Platform } from '../platform/platform.ts';
import { MessageRate, RelayFilter } from './inbox.ts';
import {
  changedSubject,
  linkSubject,
  replacedSubject,
  type SessionDirectory,
  type SignalToViewer,
  signalSubject,
  type ViewedSession,
  viewerSubject,
} from './subjects.ts';

/** Time limit for the look-up of the token. */
const TOKEN_BUDGET_MS = 15 * SECOND_MS;
/** Frames queued during the look-up of the token; a page needs to send only its hello. */
const MAX_EARLY_FRAMES = 16;
/** Their total size, because unauthenticated clients may have many such sockets while the database is slow. */
const MAX_EARLY_BYTES = MAX_SIGNAL_FRAME_BYTES;
/** Time until a closing socket is cut. */
const CLOSE_GRACE_MS = 2 * SECOND_MS;
const UNSUPPORTED_DATA = 1003;
const NORMAL = 1000;

type CloseCode = (typeof SIGNAL_CLOSE)[keyof typeof SIGNAL_CLOSE] | typeof UNSUPPORTED_DATA | typeof NORMAL;

export interface ViewerDeps {
  fleet: Pick<Fleet, 'sendSignaling' | 'isConnected'>;
  sessions: SessionDirectory;
  iceServers: IceServer[];
  consumeToken(token: string): Promise<string | null>;
  tokenFailed(): void;
  /** Grows per session, also over restarts. */
  nextConn(sessionId: string): number;
  /** The handshake is over: `ready` was sent, or the socket is closed. */
  handshakeDone(): void;
  closed(): void;
}

export class ViewerSocket {
  readonly #platform: Platform;
  readonly #deps: ViewerDeps;
  readonly #socket: WebSocket;
  readonly #rate: MessageRate;
  readonly #filter = new RelayFilter();
  readonly #timers: Timer[] = [];
  readonly #subscriptions: Subscription[] = [];
  readonly #early: RawData[] = [];
  #earlyBytes = 0;
  #phase: 'authorizing' | 'greeting' | 'preparing' | 'open' | 'closed' = 'authorizing';
  #session: ViewedSession | null = null;
  #hello: Hello | null = null;
  #conn = 0;
  /**
   * Number of this page's socket that the agent has attached: this one, or an older one that it replaces; null: none.
   * The last holder of the number reports the detach to the agent.
   */
  #attached: number | null = null;
  #lastHeard: number;
  #unsent = 0;
  #lastNotice = '';
  #refreshing = false;
  #stale = false;

  constructor(platform: Platform, deps: ViewerDeps, socket: WebSocket) {
    this.#platform = platform;
    this.#deps = deps;
    this.#socket = socket;
    this.#lastHeard = platform.clock.monotonicMs();
    this.#rate = new MessageRate(this.#lastHeard);
  }

  /** Takes the socket over. Call before the first await after the upgrade. */
  start(token: string): void {
    const { clock } = this.#platform;
    const socket = this.#socket;
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => this.#heard());
    socket.on('ping', () => this.#heard());
    socket.on('error', (error) => this.#platform.logger.debug({ err: error }, 'signal.socket_error'));
    socket.on('close', () => this.#released());
    this.#timers.push(clock.setInterval(() => this.#beat(), SIGNAL_PING_INTERVAL_MS));
    void this.#authorize(token).catch((error: unknown) => this.#broken(error));
  }

  /** Closes for a shutdown; pages reconnect to the next process. */
  goAway(): void {
    if (this.#phase === 'open') this.#send({ type: 'bye', reason: 'going_away' });
    this.#close(SIGNAL_CLOSE.restarting, 'the service restarts');
  }

  async #authorize(token: string): Promise<void> {
    const { clock } = this.#platform;
    const budget = clock.setTimeout(
      () =>
        this.#fail('relay_unavailable', SIGNAL_CLOSE.relay_unavailable, 'the service is too slow right now'),
      TOKEN_BUDGET_MS,
    );
    const sessionId = await this.#deps.consumeToken(token).finally(() => budget.cancel());
    if (this.#phase !== 'authorizing') return;
    if (sessionId === null) {
      this.#deps.tokenFailed();
      return this.#close(SIGNAL_CLOSE.bad_token, 'token unknown, expired or used');
    }
    const session = await this.#deps.sessions.view(sessionId);
    if (this.#phase !== 'authorizing') return;
    if (session === undefined || isOver(session))
      return this.#close(SIGNAL_CLOSE.session_gone, 'session is over');
    if (session.host_id === null) return this.#close(SIGNAL_CLOSE.no_host, 'session has no host yet');
    if (!this.#deps.fleet.isConnected(session.host_id)) return this.#noRelay();
    this.#session = session;
    this.#phase = 'greeting';
    this.#timers.push(
      clock.setTimeout(() => {
        if (this.#phase === 'greeting') this.#close(SIGNAL_CLOSE.timed_out, 'no hello');
      }, SIGNAL_HELLO_TIMEOUT_MS),
    );
    this.#drain();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#phase === 'closed') return;
    this.#heard();
    const early = this.#phase === 'authorizing' || this.#phase === 'preparing';
    const withinRate = this.#rate.take(this.#platform.clock.monotonicMs());
    if (isBinary) this.#close(UNSUPPORTED_DATA, 'text frames only');
    else if (!withinRate || (early && !this.#hasRoomFor(data)))
      this.#fail('rate_limited', SIGNAL_CLOSE.flooded, 'too many messages');
    else if (early) {
      this.#early.push(data);
      this.#earlyBytes += bytesOf(data);
    } else this.#read(data);
  }

  #hasRoomFor(data: RawData): boolean {
    return this.#early.length < MAX_EARLY_FRAMES && this.#earlyBytes + bytesOf(data) <= MAX_EARLY_BYTES;
  }

  /** Handles queued frames; a hello holds the rest back until it is answered. */
  #drain(): void {
    while (this.#phase === 'greeting' || this.#phase === 'open') {
      const data = this.#early.shift();
      if (data === undefined) return;
      this.#earlyBytes -= bytesOf(data);
      this.#read(data);
    }
  }

  #read(data: RawData): void {
    const text = decodeText(data);
    const frame = text === null ? null : relayBrowserFrame(text);
    if (frame === null || frame.kind === 'malformed') {
      this.#fail('invalid_message', SIGNAL_CLOSE.malformed, frame?.why ?? 'not UTF-8');
      return;
    }
    if (frame.kind === 'unknown') return;
    const { message } = frame;
    if (this.#phase === 'greeting' && message.type === 'hello') {
      void this.#greet(message).catch((error: unknown) => this.#broken(error));
      return;
    }
    if (message.type === 'hello' || this.#phase !== 'open') {
      this.#fail('invalid_message', SIGNAL_CLOSE.malformed, 'hello comes first, and once');
      return;
    }
    this.#relay(message, frame.text);
  }

  async #greet(hello: Hello): Promise<void> {
    const session = this.#session as ViewedSession;
    const hostId = session.host_id as string;
    if (hello.protocol !== SIGNAL_PROTOCOL)
      return this.#close(SIGNAL_CLOSE.protocol_unsupported, 'protocol version not supported');
    if (session.stream.codec !== 'h264' && !hello.codecs.includes(session.stream.codec))
      return this.#fail(
        'codec_unsupported',
        SIGNAL_CLOSE.codec_unsupported,
        `this session streams ${session.stream.codec}`,
      );
    this.#phase = 'preparing';
    this.#hello = hello;
    this.#conn = this.#deps.nextConn(session.id);
    const { bus } = this.#platform;
    this.#subscriptions.push(
      bus.subscribe(changedSubject(session.id), () => this.#changed()),
      bus.subscribe(signalSubject(session.id), (payload) => this.#fromAgent(payload)),
      bus.subscribe(viewerSubject(session.id), (payload) => this.#otherViewer(payload)),
      bus.subscribe(replacedSubject(session.id), (payload) => this.#replaces(payload)),
      bus.subscribe(linkSubject(hostId), (payload) => {
        if ((payload as { connected: boolean }).connected === false) this.#noRelay();
      }),
    );
    bus.publish(viewerSubject(session.id), { conn: this.#conn, client_id: hello.client_id });
    // Read again: a change before the subscriptions would be missed otherwise.
    const current = await this.#deps.sessions.view(session.id);
    if (this.#phase !== 'preparing') return;
    if (current === undefined || isOver(current)) return this.#sessionOver(current);
    if (!this.#deps.fleet.isConnected(hostId)) return this.#noRelay();
    this.#phase = 'open';
    this.#session = current;
    this.#lastNotice = noticeOf(current);
    const { codec, width, height, fps, mic, recording } = current.stream;
    this.#send({
      type: 'ready',
      protocol: SIGNAL_PROTOCOL,
      session: { id: current.id, state: current.state, state_detail: current.state_detail },
      stream: { codec, width, height, fps, audio: true, mic, recording },
      ice_servers: this.#deps.iceServers,
      conn: this.#conn,
    });
    this.#deps.handshakeDone();
    this.#attachWhenReady(current);
    this.#drain();
    // A change during the read may be missing from the row.
    if (this.#stale) this.#changed();
  }

  #attachWhenReady(session: ViewedSession): void {
    if (this.#attached === this.#conn || this.#hello === null || this.#phase !== 'open') return;
    if (!session.relay_ready || (session.state !== 'starting' && session.state !== 'running')) return;
    const attach = encodeSignal({
      type: 'attach',
      client_id: this.#hello.client_id,
      hello: this.#hello,
      ice_servers: this.#deps.iceServers,
    });
    if (this.#toAgent(attach)) this.#attached = this.#conn;
  }

  #relay(message: Exclude<BrowserMessage, { type: 'hello' }>, text: string): void {
    if (this.#attached !== this.#conn || !this.#filter.passes(message, this.#platform.clock.monotonicMs()))
      return;
    this.#toAgent(text);
  }

  /** @returns false: the socket was closed because the frame could not be sent */
  #toAgent(text: string): boolean {
    const session = this.#session as ViewedSession;
    const hostId = session.host_id as string;
    if (this.#deps.fleet.sendSignaling(hostId, { session_id: session.id, conn: this.#conn, text }))
      return true;
    if (this.#deps.fleet.isConnected(hostId))
      this.#fail('relay_unavailable', SIGNAL_CLOSE.flooded, 'the relay to the host is full');
    else this.#noRelay();
    return false;
  }

  #fromAgent(payload: unknown): void {
    if (this.#phase !== 'open' || this.#attached !== this.#conn) return;
    const { conn, text, last } = payload as SignalToViewer;
    if (conn !== this.#conn) return;
    this.#write(text);
    if (last === null) return;
    if (last.type === 'bye') this.#close(BYE_CLOSE[last.reason], last.reason);
    else this.#close(ERROR_CLOSE.get(last.code) ?? SIGNAL_CLOSE.relay_unavailable, last.code);
  }

  /** A later socket of the session replaces this one. */
  #otherViewer(payload: unknown): void {
    const { conn, client_id } = payload as { conn: number; client_id: string };
    if (conn <= this.#conn) return;
    if (client_id === this.#hello?.client_id) {
      // The same page reconnected: the newer socket's attach replaces this one at the agent.
      const { id } = this.#session as ViewedSession;
      if (this.#attached !== null)
        this.#platform.bus.publish(replacedSubject(id), { attached: this.#attached, by: conn });
      this.#attached = null;
      this.#close(NORMAL, 'replaced by a newer socket of this page');
      return;
    }
    if (this.#attached !== null) this.#detach(this.#attached, 'taken_over');
    if (this.#phase === 'open') this.#send({ type: 'bye', reason: 'taken_over' });
    this.#close(SIGNAL_CLOSE.taken_over, 'another viewer took over');
  }

  /** An older socket of this page handed over, so this one must detach later. */
  #replaces(payload: unknown): void {
    const { attached, by } = payload as { attached: number; by: number };
    if (by === this.#conn) this.#attached ??= attached;
  }

  #changed(): void {
    this.#stale = true;
    if (this.#refreshing) return;
    this.#refreshing = true;
    void this.#refresh()
      .catch((error: unknown) => this.#broken(error))
      .finally(() => {
        this.#refreshing = false;
      });
  }

  async #refresh(): Promise<void> {
    while (this.#stale && this.#phase === 'open') {
      this.#stale = false;
      const session = await this.#deps.sessions.view((this.#session as ViewedSession).id);
      if (this.#phase !== 'open') return;
      if (session === undefined) return this.#sessionOver(undefined);
      this.#session = session;
      const notice = noticeOf(session);
      if (notice !== this.#lastNotice) {
        this.#lastNotice = notice;
        this.#write(notice);
      }
      if (isOver(session)) return this.#sessionOver(session);
      this.#attachWhenReady(session);
    }
  }

  #sessionOver(session: ViewedSession | undefined): void {
    // The agent has nothing attached any more.
    this.#attached = null;
    this.#send({ type: 'bye', reason: session?.end_reason === 'host_lost' ? 'host_lost' : 'session_ended' });
    this.#close(SIGNAL_CLOSE.session_gone, 'session is over');
  }

  #noRelay(): void {
    this.#attached = null;
    this.#fail(
      'relay_unavailable',
      SIGNAL_CLOSE.relay_unavailable,
      'the host of this session is not connected',
    );
  }

  #broken(error: unknown): void {
    this.#platform.logger.warn({ session_id: this.#session?.id, err: error }, 'signal.failed');
    this.#fail('internal', SIGNAL_CLOSE.relay_unavailable, 'something went wrong on the server');
  }

  #heard(): void {
    this.#lastHeard = this.#platform.clock.monotonicMs();
  }

  #beat(): void {
    if (this.#platform.clock.monotonicMs() - this.#lastHeard >= SIGNAL_READ_TIMEOUT_MS) {
      this.#close(SIGNAL_CLOSE.timed_out, 'silent for too long');
      return;
    }
    this.#socket.ping();
  }

  #send(message: ServiceMessage): void {
    this.#write(encodeServiceFrame(message));
  }

  #write(frame: string): void {
    if (this.#phase === 'closed' || this.#socket.readyState !== this.#socket.OPEN) return;
    if (
      this.#unsent >= RELAY_QUEUE_MESSAGES ||
      this.#socket.bufferedAmount + frame.length > RELAY_QUEUE_BYTES
    ) {
      this.#close(SIGNAL_CLOSE.flooded, 'the page does not read');
      return;
    }
    this.#unsent += 1;
    this.#socket.send(frame, () => {
      this.#unsent -= 1;
    });
  }

  #fail(code: SignalErrorCode, close: CloseCode, message: string): void {
    this.#send({ type: 'error', code, message: message.slice(0, 200), fatal: true });
    this.#close(close, message);
  }

  #detach(conn: number, reason: 'closed' | 'taken_over'): void {
    const session = this.#session as ViewedSession;
    this.#attached = null;
    this.#deps.fleet.sendSignaling(session.host_id as string, {
      session_id: session.id,
      conn,
      text: encodeSignal({ type: 'detach', reason }),
      // A full queue may have closed this socket; without the detach the agent would keep it attached forever.
      owed: true,
    });
  }

  #close(code: CloseCode, reason: string): void {
    if (this.#phase === 'closed') return;
    this.#end();
    this.#socket.close(code, reason.slice(0, 100));
    // Cut the socket of a peer that does not answer the close, to free its descriptor.
    const timer = this.#platform.clock.setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS);
    this.#socket.once('close', () => timer.cancel());
  }

  #released(): void {
    if (this.#phase !== 'closed') this.#end();
    this.#deps.closed();
  }

  #end(): void {
    this.#phase = 'closed';
    if (this.#attached !== null) this.#detach(this.#attached, 'closed');
    for (const timer of this.#timers) timer.cancel();
    for (const subscription of this.#subscriptions) subscription.close();
    this.#early.length = 0;
    this.#earlyBytes = 0;
    this.#deps.handshakeDone();
  }
}

const isOver = (session: ViewedSession): boolean => session.state === 'stopped' || session.state === 'failed';

/** The message with the session's state for the page; equal texts are not sent twice. */
function noticeOf(session: ViewedSession): string {
  const { state, state_detail, app_launch_state } = session;
  return encodeServiceFrame({
    type: 'session',
    state,
    state_detail,
    ...(app_launch_state !== undefined && { app_launch_state }),
  });
}

/** Close code after the agent's bye. */
const BYE_CLOSE = {
  taken_over: SIGNAL_CLOSE.taken_over,
  session_ended: SIGNAL_CLOSE.session_gone,
  host_lost: SIGNAL_CLOSE.session_gone,
  going_away: SIGNAL_CLOSE.relay_unavailable,
} as const;

/** Close code after a fatal error of the agent; other errors close as a failed relay. */
const ERROR_CLOSE = new Map<string, CloseCode>([
  ['invalid_message', SIGNAL_CLOSE.malformed],
  ['codec_unsupported', SIGNAL_CLOSE.codec_unsupported],
  ['video_rejected', SIGNAL_CLOSE.codec_unsupported],
  ['rate_limited', SIGNAL_CLOSE.flooded],
]);

const bytesOf = (data: RawData): number =>
  Array.isArray(data) ? data.reduce((sum, part) => sum + part.length, 0) : data.byteLength;

const encodeSignal = (message: ControlSignal): string => JSON.stringify(message);

function decodeText(data: RawData): string | null {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}
