/**
 * One viewer's signaling socket.
 *
 *     authorizing ──> greeting ──> preparing ──> open
 *          └──────────────┴─────────────┴──────────┴──> closed
 *
 * - authorizing: the token is being consumed and its session looked up; frames of the page wait.
 * - greeting: waits for the page's hello.
 * - preparing: the socket has a number, listens to the bus, and reads the session again; frames of the page wait.
 * - open: `ready` was sent; changes of the session are sent to the page. When the agent reaches the step "starting
 *   encoder", the socket is attached and frames are relayed.
 * - closed: by the page, a limit, a later viewer, the end of the session, or a lost link of the host. Closing does not
 *   end the session or the picture: the agent is notified and keeps the peer connection.
 *
 * Teardown (`#end`, once): notifies the agent of the detach, cancels the timers, ends the subscriptions and drops
 * waiting frames. The socket itself is terminated CLOSE_GRACE_MS later if its peer does not answer the close.
 */
import { isUtf8 } from 'node:buffer';
import { SECOND_MS, type Timer, TokenBucket } from '@footlight/platform';
import { isTerminal, type SignalErrorCode } from '@footlight/protocol';
import { type ControlSignal, RELAY_QUEUE_BYTES, RELAY_QUEUE_MESSAGES } from '@footlight/protocol/agent';
import {
  type BrowserMessage,
  encodeServiceFrame,
  type Hello,
  MAX_SIGNAL_FRAME_BYTES,
  relayBrowserFrame,
  type ServiceMessage,
  SIGNAL_CLOSE,
  SIGNAL_HELLO_TIMEOUT_MS,
  SIGNAL_PING_INTERVAL_MS,
  SIGNAL_PROTOCOL,
  SIGNAL_RATE_BURST,
  SIGNAL_RATE_PER_SECOND,
  SIGNAL_READ_TIMEOUT_MS,
} from '@footlight/protocol/signal';
import type { RawData, WebSocket } from 'ws';
import { type Agents, hostSubjects } from '../fleet/index.ts';
import type { Subscription } from '../platform/bus/bus.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { MintedIceServers } from './ice-servers.ts';
import { RelayFilter } from './inbox.ts';
import {
  type SessionDirectory,
  type SignalToViewer,
  sessionSubjects,
  type ViewedSession,
} from './subjects.ts';
import type { Admission, AdmittedGuest } from './tokens.ts';
import {
  acceptsViewer,
  closeAfter,
  judgeHello,
  judgeOrder,
  judgeSession,
  judgeViewer,
  NO_RELAY,
  type ViewerRefusal,
} from './viewer-rules.ts';

/** Time limit for the look-up of the token. */
const TOKEN_BUDGET_MS = 15 * SECOND_MS;
/** Maximum frames that are queued during the look-up of the token; a page needs to send only its hello. */
const MAX_QUEUED_FRAMES = 16;
/**
 * Maximum total size of the queued frames. It is limited because unauthenticated clients may open many sockets while
 * the database is slow.
 */
const MAX_QUEUED_BYTES = MAX_SIGNAL_FRAME_BYTES;
/** Time until a closing socket is terminated. */
const CLOSE_GRACE_MS = 2 * SECOND_MS;
const UNSUPPORTED_DATA = 1003;
const NORMAL = 1000;

type CloseCode = (typeof SIGNAL_CLOSE)[keyof typeof SIGNAL_CLOSE] | typeof UNSUPPORTED_DATA | typeof NORMAL;

export interface ViewerDeps {
  agents: Pick<Agents, 'signal' | 'link'>;
  sessions: SessionDirectory;
  /** Returns ICE servers with credentials that were made just now. @param holderId id of the session, or of the guest */
  mintIceServers(holderId: string, endsAtMs: number | null): MintedIceServers;
  consumeToken(token: string): Promise<Admission | null>;
  /** Whether a guest's access has neither ended nor expired. */
  isAdmitted(guestId: string): Promise<boolean>;
  tokenFailed(): void;
  /** Returns a connection number that grows per session and person, also across restarts. */
  nextConn(sessionId: string, guest: AdmittedGuest | null): number;
  /** Called when the handshake is over: `ready` was sent, or the socket is closed. */
  handshakeDone(): void;
  closed(): void;
}

export class ViewerSocket {
  readonly #platform: Pick<Platform, 'bus' | 'clock' | 'logger'>;
  readonly #deps: ViewerDeps;
  readonly #socket: WebSocket;
  readonly #rate: TokenBucket;
  readonly #filter = new RelayFilter();
  readonly #timers: Timer[] = [];
  readonly #subscriptions: Subscription[] = [];
  readonly #queued: RawData[] = [];
  #queuedBytes = 0;
  #phase: 'authorizing' | 'greeting' | 'preparing' | 'open' | 'closed' = 'authorizing';
  #session: ViewedSession | null = null;
  /** The guest whose page this is; null: it is the owner's. */
  #guest: AdmittedGuest | null = null;
  #hello: Hello | null = null;
  #conn = 0;
  /**
   * Number of the page's socket that is attached at the agent: this socket, or an older one that it replaces; null:
   * none. The last socket with this value reports the detach to the agent.
   */
  #attached: number | null = null;
  /** Number of the page's older socket that this one has replaced; null: none. */
  #replacedConn: number | null = null;
  #lastActivityMs: number;
  #unsent = 0;
  #lastNotice = '';
  #refreshing = false;
  #stale = false;

  constructor(platform: Pick<Platform, 'bus' | 'clock' | 'logger'>, deps: ViewerDeps, socket: WebSocket) {
    this.#platform = platform;
    this.#deps = deps;
    this.#socket = socket;
    this.#lastActivityMs = platform.clock.monotonicMs();
    this.#rate = new TokenBucket(SIGNAL_RATE_PER_SECOND, SIGNAL_RATE_BURST, this.#lastActivityMs);
  }

  /** Takes over the socket. Call this before the first await after the upgrade. */
  start(token: string): void {
    const { clock } = this.#platform;
    const socket = this.#socket;
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => this.#recordActivity());
    socket.on('ping', () => this.#recordActivity());
    socket.on('error', (error) => this.#platform.logger.debug({ err: error }, 'signal.socket_error'));
    socket.on('close', () => this.#onSocketClosed());
    this.#timers.push(clock.setInterval(() => this.#checkLiveness(), SIGNAL_PING_INTERVAL_MS));
    void this.#authorize(token).catch((error: unknown) => this.#onError(error));
  }

  /** Closes the socket for a shutdown; pages reconnect to the next process. */
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
    const admission = await this.#deps.consumeToken(token).finally(() => budget.cancel());
    if (this.#phase !== 'authorizing') return;
    if (admission === null) {
      this.#deps.tokenFailed();
      return this.#close(SIGNAL_CLOSE.bad_token, 'token unknown, expired or used');
    }
    const { guest, sessionId } = admission;
    const session = await this.#deps.sessions.view(sessionId);
    if (this.#phase !== 'authorizing') return;
    const hostId = session?.host_id ?? null;
    const hasLink = hostId !== null && (await this.#hasLink(hostId));
    if (this.#phase !== 'authorizing') return;
    const refusal = judgeSession(session, hasLink);
    if (refusal !== null || session === undefined) return this.#refuse(refusal ?? NO_RELAY);
    this.#session = session;
    this.#guest = guest;
    if (guest !== null)
      this.#timers.push(clock.setTimeout(() => this.#endGuest(), guest.expiresAt - clock.nowMs()));
    this.#phase = 'greeting';
    this.#timers.push(
      clock.setTimeout(() => {
        if (this.#phase === 'greeting') this.#close(SIGNAL_CLOSE.timed_out, 'no hello');
      }, SIGNAL_HELLO_TIMEOUT_MS),
    );
    this.#drain();
  }

  /**
   * Whether the host is connected. false also if the replica with the link does not answer, because its link may have
   * ended while the question was on its way.
   */
  async #hasLink(hostId: string): Promise<boolean> {
    try {
      return (await this.#deps.agents.link(hostId)) !== null;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#phase === 'closed') return;
    this.#recordActivity();
    const isWaiting = this.#phase === 'authorizing' || this.#phase === 'preparing';
    const withinRate = this.#rate.take(this.#platform.clock.monotonicMs());
    if (isBinary) this.#close(UNSUPPORTED_DATA, 'text frames only');
    else if (!withinRate || (isWaiting && !this.#hasRoomFor(data)))
      this.#fail('rate_limited', SIGNAL_CLOSE.flooded, 'too many messages');
    else if (isWaiting) {
      this.#queued.push(data);
      this.#queuedBytes += bytesOf(data);
    } else this.#read(data);
  }

  #hasRoomFor(data: RawData): boolean {
    return this.#queued.length < MAX_QUEUED_FRAMES && this.#queuedBytes + bytesOf(data) <= MAX_QUEUED_BYTES;
  }

  /** Handles queued frames; after a hello the other frames wait until it is answered. */
  #drain(): void {
    while (this.#phase === 'greeting' || this.#phase === 'open') {
      const data = this.#queued.shift();
      if (data === undefined) return;
      this.#queuedBytes -= bytesOf(data);
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
    if (this.#phase !== 'greeting' && this.#phase !== 'open') return;
    const refusal = judgeOrder(this.#phase, message.type);
    if (refusal !== null) this.#refuse(refusal);
    else if (message.type === 'hello')
      void this.#onHello(message).catch((error: unknown) => this.#onError(error));
    else this.#relay(message, frame.text);
  }

  async #onHello(hello: Hello): Promise<void> {
    const session = this.#session as ViewedSession;
    const hostId = session.host_id as string;
    const refusal = judgeHello(hello, session.stream);
    if (refusal !== null) return this.#refuse(refusal);
    this.#phase = 'preparing';
    this.#hello = hello;
    const guest = this.#guest;
    this.#conn = this.#deps.nextConn(session.id, guest);
    const { viewer, replaced, key } = this.#person;
    const { bus } = this.#platform;
    this.#subscriptions.push(
      bus.subscribe(sessionSubjects.changed, session.id, () => this.#onSessionChanged()),
      bus.subscribe(sessionSubjects.signal, session.id, (signal) => this.#onAgentSignal(signal)),
      bus.subscribe(viewer, key, (other) => this.#onViewer(other)),
      bus.subscribe(replaced, key, (handover) => this.#onReplaced(handover)),
      bus.subscribe(hostSubjects.signalRefused, session.id, ({ conn }) => this.#onSignalRefused(conn)),
      bus.subscribe(hostSubjects.changed, hostId, ({ what }) => {
        if (what === 'lost') this.#onLinkLost();
      }),
      bus.onGap(() => void this.#onGap(hostId).catch((error: unknown) => this.#onError(error))),
    );
    if (guest !== null)
      this.#subscriptions.push(bus.subscribe(sessionSubjects.guestEnded, guest.id, () => this.#endGuest()));
    bus.publish(viewer, key, { conn: this.#conn, client_id: hello.client_id });
    // Read the session again, because a change before the subscriptions would be missed otherwise.
    const [current, hasLink, isAdmitted] = await Promise.all([
      this.#deps.sessions.view(session.id),
      this.#hasLink(hostId),
      guest === null || this.#deps.isAdmitted(guest.id),
    ]);
    if (this.#phase !== 'preparing') return;
    if (!isAdmitted) return this.#endGuest();
    const changed = judgeSession(current, hasLink);
    if (current === undefined || changed?.close === 'session_gone') return this.#endWithSession(current);
    if (changed !== null) return this.#refuse(changed);
    this.#phase = 'open';
    this.#session = current;
    this.#lastNotice = this.#noticeOf(current);
    const { codec, width, height, fps, mic, recording } = current.stream;
    const { iceServers, ttlSecs } = this.#mintIceServers(current.id);
    this.#send({
      type: 'ready',
      protocol: SIGNAL_PROTOCOL,
      session: { id: current.id, state: current.state, state_detail: this.#detailOf(current) },
      stream: { codec, width, height, fps, audio: true, mic: mic && guest === null, recording },
      ice_servers: iceServers,
      ...(ttlSecs !== null && { ice_ttl_secs: ttlSecs }),
      conn: this.#conn,
    });
    this.#deps.handshakeDone();
    this.#attachWhenReady(current);
    this.#drain();
    // Handle a change during the read, because the row may not contain it.
    if (this.#stale) this.#onSessionChanged();
  }

  #mintIceServers(sessionId: string): MintedIceServers {
    return this.#deps.mintIceServers(this.#guest?.id ?? sessionId, this.#guest?.expiresAt ?? null);
  }

  #attachWhenReady(session: ViewedSession): void {
    if (this.#attached === this.#conn || this.#hello === null || this.#phase !== 'open') return;
    if (!acceptsViewer(session)) return;
    const attach = encodeSignal({
      type: 'attach',
      client_id: this.#hello.client_id,
      hello: this.#hello,
      // Minted again, because the session may have waited for its host since `ready`.
      ice_servers: this.#mintIceServers(session.id).iceServers,
      ...(this.#guest !== null && { guest: { id: this.#guest.id, name: this.#guest.name } }),
    });
    this.#attached = this.#conn;
    this.#toAgent({ conn: this.#conn, text: attach });
  }

  #relay(message: Exclude<BrowserMessage, { type: 'hello' }>, text: string): void {
    if (this.#attached !== this.#conn || !this.#filter.passes(message, this.#platform.clock.monotonicMs()))
      return;
    this.#toAgent({ conn: this.#conn, text });
  }

  #toAgent(frame: { conn: number; text: string; mustSend?: boolean }): void {
    const { id, host_id } = this.#session as ViewedSession;
    this.#deps.agents.signal(host_id as string, { session_id: id, ...frame });
  }

  #onSignalRefused(conn: number): void {
    if (conn !== this.#conn || this.#phase === 'closed') return;
    // The refused message may be the attach. Then the page's older socket is still attached at the agent, so detach it.
    if (this.#replacedConn !== null) this.#detach(this.#replacedConn, 'closed');
    this.#fail('relay_unavailable', SIGNAL_CLOSE.flooded, 'the relay to the host is full');
  }

  #onAgentSignal({ conn, text, last }: SignalToViewer): void {
    if (this.#phase !== 'open' || this.#attached !== this.#conn || conn !== this.#conn) return;
    this.#write(text);
    if (last !== null)
      this.#close(SIGNAL_CLOSE[closeAfter(last)], last.type === 'bye' ? last.reason : last.code);
  }

  /** A later socket of the session replaces this one. */
  #onViewer({ conn, client_id }: { conn: number; client_id: string }): void {
    const mine = { conn: this.#conn, clientId: this.#hello?.client_id ?? null };
    const verdict = judgeViewer(mine, { conn, client_id });
    if (verdict === 'older') return;
    if (verdict === 'reconnected') {
      // The same page reconnected: the newer socket's attach replaces this one at the agent.
      const { replaced, key } = this.#person;
      if (this.#attached !== null)
        this.#platform.bus.publish(replaced, key, { attached: this.#attached, by: conn });
      this.#attached = null;
      this.#close(NORMAL, 'replaced by a newer socket of this page');
      return;
    }
    if (this.#attached !== null) this.#detach(this.#attached, 'taken_over');
    this.#attached = null;
    if (this.#phase === 'open') this.#send({ type: 'bye', reason: 'taken_over' });
    this.#close(SIGNAL_CLOSE.taken_over, 'another viewer took over');
  }

  /** This socket has replaced an older socket of the page, so this one must detach it later. */
  #onReplaced({ attached, by }: { attached: number; by: number }): void {
    if (by !== this.#conn) return;
    this.#replacedConn = attached;
    this.#attached ??= attached;
  }

  #onSessionChanged(): void {
    this.#stale = true;
    if (this.#refreshing) return;
    this.#refreshing = true;
    void this.#refresh()
      .catch((error: unknown) => this.#onError(error))
      .finally(() => {
        this.#refreshing = false;
      });
  }

  async #refresh(): Promise<void> {
    while (this.#stale && this.#phase === 'open') {
      this.#stale = false;
      const session = await this.#deps.sessions.view((this.#session as ViewedSession).id);
      if (this.#phase !== 'open') return;
      if (session === undefined) return this.#endWithSession(undefined);
      this.#session = session;
      const notice = this.#noticeOf(session);
      if (notice !== this.#lastNotice) {
        this.#lastNotice = notice;
        this.#write(notice);
      }
      if (isTerminal(session.state)) return this.#endWithSession(session);
      this.#attachWhenReady(session);
    }
  }

  #endWithSession(session: ViewedSession | undefined): void {
    // No detach is needed, because the agent no longer has a socket of this session.
    this.#attached = null;
    this.#send({ type: 'bye', reason: session?.end_reason === 'host_lost' ? 'host_lost' : 'session_ended' });
    this.#close(SIGNAL_CLOSE.session_gone, 'session is over');
  }

  /** Subjects about the sockets of this person, and their key. */
  get #person() {
    const { viewer, replaced, guestViewer, guestReplaced } = sessionSubjects;
    return this.#guest === null
      ? { viewer, replaced, key: (this.#session as ViewedSession).id }
      : { viewer: guestViewer, replaced: guestReplaced, key: this.#guest.id };
  }

  /** The owner removed this guest, or the guest's time is over. */
  #endGuest(): void {
    if (this.#phase === 'open') this.#send({ type: 'bye', reason: 'guest_ended' });
    this.#close(SIGNAL_CLOSE.guest_ended, 'the access of this guest has ended');
  }

  /** Details are for the owner; for example, they can name another app. */
  #detailOf({ state_detail }: ViewedSession): string | null {
    return this.#guest === null ? state_detail : null;
  }

  /** The message with the session's state for the page; an unchanged text is not sent again. */
  #noticeOf(session: ViewedSession): string {
    const { state, app_launch_state } = session;
    return encodeServiceFrame({
      type: 'session',
      state,
      state_detail: this.#detailOf(session),
      ...(app_launch_state !== undefined && { app_launch_state }),
    });
  }

  #onLinkLost(): void {
    this.#attached = null;
    this.#refuse(NO_RELAY);
  }

  /** After a gap of the bus, the host's link may be lost and the session may have changed. */
  async #onGap(hostId: string): Promise<void> {
    // The message of the guest's removal may be lost too.
    if (this.#guest !== null && !(await this.#deps.isAdmitted(this.#guest.id))) return this.#endGuest();
    const link = await this.#deps.agents.link(hostId);
    if (link === null && this.#phase === 'open') this.#onLinkLost();
    else this.#onSessionChanged();
  }

  #onError(error: unknown): void {
    this.#platform.logger.warn({ session_id: this.#session?.id, err: error }, 'signal.failed');
    this.#fail('internal', SIGNAL_CLOSE.relay_unavailable, 'something went wrong on the server');
  }

  #recordActivity(): void {
    this.#lastActivityMs = this.#platform.clock.monotonicMs();
  }

  #checkLiveness(): void {
    if (this.#platform.clock.monotonicMs() - this.#lastActivityMs >= SIGNAL_READ_TIMEOUT_MS) {
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

  #refuse({ close, error, why }: ViewerRefusal): void {
    if (error === null) this.#close(SIGNAL_CLOSE[close], why);
    else this.#fail(error, SIGNAL_CLOSE[close], why);
  }

  #fail(code: SignalErrorCode, close: CloseCode, message: string): void {
    this.#send({ type: 'error', code, message: message.slice(0, 200), fatal: true });
    this.#close(close, message);
  }

  #detach(conn: number, reason: 'closed' | 'taken_over'): void {
    // Send the detach even if the queue is full, because otherwise the agent would keep this socket attached forever.
    this.#toAgent({ conn, text: encodeSignal({ type: 'detach', reason }), mustSend: true });
  }

  #close(code: CloseCode, reason: string): void {
    if (this.#phase === 'closed') return;
    this.#end();
    this.#socket.close(code, reason.slice(0, 100));
    // Terminate the socket of a peer that does not answer the close, to free its descriptor.
    const timer = this.#platform.clock.setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS);
    this.#socket.once('close', () => timer.cancel());
  }

  #onSocketClosed(): void {
    if (this.#phase !== 'closed') this.#end();
    this.#deps.closed();
  }

  #end(): void {
    this.#phase = 'closed';
    if (this.#attached !== null) this.#detach(this.#attached, 'closed');
    for (const timer of this.#timers) timer.cancel();
    for (const subscription of this.#subscriptions) subscription.close();
    this.#queued.length = 0;
    this.#queuedBytes = 0;
    this.#deps.handshakeDone();
  }
}

const bytesOf = (data: RawData): number =>
  Array.isArray(data) ? data.reduce((sum, part) => sum + part.length, 0) : data.byteLength;

const encodeSignal = (message: ControlSignal): string => JSON.stringify(message);

function decodeText(data: RawData): string | null {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}
