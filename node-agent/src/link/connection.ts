import type { Clock, Logger, Timer } from '@footlight/platform';
import { errorText, WindowCounter } from '@footlight/platform';
import type { RefusalCode } from '@footlight/protocol';
import {
  AGENT_CLOSE,
  type AgentMessage,
  type Capacity,
  type ControlMessage,
  encodeAgentFrame,
  HANDSHAKE_STEP_MS,
  type Heartbeat,
  MALFORMED_LIMIT,
  MALFORMED_WINDOW_MS,
  parseControlFrame,
  READ_DEADLINE_MS,
  type Register,
  type Registered,
} from '@footlight/protocol/agent';
import type WebSocket from 'ws';
import { type LinkEnd, retryAfterMs } from './backoff.ts';
import { type DialOptions, dial } from './dial.ts';

/** Callbacks for the stages of a connection. */
export interface ConnectionEvents {
  register(): Register;
  heartbeat(): Heartbeat;
  registered(registered: Registered): Promise<void>;
  /** Capacity of the host, the first message after `registered`. */
  capacity(): Promise<Capacity>;
  ready(): void;
  message(message: ControlMessage): void;
  ended(end: LinkEnd, wasReady: boolean): void;
}

interface ConnectionDeps {
  clock: Clock;
  logger: Logger;
}

/** Number of buffered bytes in the socket above which lossy messages are dropped. */
const SOCKET_BUFFER_LIMIT = 4 * 1024 * 1024;

/**
 * One socket from the connection attempt to its close. The end is reported exactly once.
 *
 * dialing → registering → reporting → ready → ended. Owner: the control link. Owns the socket, the heartbeat and the
 * deadlines, which are freed when either side closes. leave() closes with a close frame and waits at most 1 s for the
 * answer.
 */
export class Connection {
  readonly #deps: ConnectionDeps;
  readonly #events: ConnectionEvents;
  readonly #socket: WebSocket;
  readonly #enrolling: boolean;
  readonly #malformed = new WindowCounter(MALFORMED_LIMIT, MALFORMED_WINDOW_MS);
  #phase: 'dialing' | 'registering' | 'reporting' | 'ready' | 'ended' = 'dialing';
  #openedAtMs: number | null = null;
  #refused: { status: number; retryAfterMs: number | null } | null = null;
  #stepTimer: Timer | null = null;
  #silenceTimer: Timer | null = null;
  #heartbeatTimer: Timer | null = null;
  /** The close code that this side sent; after a terminate, the close event may contain 1006 instead. */
  #closedWith: number | null = null;

  constructor(options: DialOptions, deps: ConnectionDeps, events: ConnectionEvents) {
    this.#deps = deps;
    this.#events = events;
    this.#enrolling = options.credential.kind === 'enroll';
    this.#socket = dial(options);
    this.#socket.on('open', () => this.#open());
    this.#socket.on('message', (data, isBinary) => this.#frame(data, isBinary));
    this.#socket.on('unexpected-response', (request, response) => {
      const status = response.statusCode ?? 0;
      this.#refused = { status, retryAfterMs: retryAfterMs(response.headers['retry-after']) };
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        if (body.length < 4096) body += part;
      });
      response.on('end', () => {
        deps.logger.warn({ status, enrolling: this.#enrolling, message: refusalText(body) }, 'link.refused');
        request.destroy();
        this.#end(0);
      });
      response.on('error', () => this.#end(0));
    });
    this.#socket.on('error', (error) => {
      if (this.#refused === null) deps.logger.debug({ error: errorText(error) }, 'link.socket_error');
    });
    this.#socket.on('close', (code) => this.#end(code));
  }

  get ready(): boolean {
    return this.#phase === 'ready';
  }

  /** Whether the control plane has accepted the registration, so that commands may arrive. */
  get registered(): boolean {
    return this.#phase === 'reporting' || this.#phase === 'ready';
  }

  /** Whether the control plane reads too slowly, so that bytes wait in the socket's buffer. */
  get isClogged(): boolean {
    return this.#socket.bufferedAmount > SOCKET_BUFFER_LIMIT;
  }

  send(message: AgentMessage): void {
    // Dropped, so that a peer that does not read cannot fill the memory of this process. Reliable reports stay in the
    // outbox.
    if (this.isClogged) return;
    this.sendFrame(encodeAgentFrame(message));
  }

  sendFrame(frame: string): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(frame);
  }

  /** Closes with code 1001 and waits at most 1 s for the control plane's close frame. */
  async leave(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    if (this.#socket.readyState === this.#socket.CONNECTING) this.#socket.terminate();
    else this.#close(AGENT_CLOSE.leaving);
    const timer = this.#deps.clock.setTimeout(() => this.#socket.terminate(), 1_000);
    if (this.#phase !== 'ended') await closed;
    timer.cancel();
  }

  #open(): void {
    this.#openedAtMs = this.#deps.clock.monotonicMs();
    this.#phase = 'registering';
    this.#listen();
    this.sendFrame(encodeAgentFrame(this.#events.register()));
    this.#awaitStep();
  }

  /** Starts the time limit for the message `registered`, and later for `config_update`. */
  #awaitStep(): void {
    this.#stepTimer?.cancel();
    this.#stepTimer = this.#deps.clock.setTimeout(
      () => this.#close(AGENT_CLOSE.timed_out),
      HANDSHAKE_STEP_MS,
    );
  }

  #frame(data: WebSocket.RawData, isBinary: boolean): void {
    if (this.#phase === 'ended') return;
    this.#listen();
    if (isBinary) {
      this.#close(AGENT_CLOSE.binary_frame);
      return;
    }
    const parsed = parseControlFrame(data.toString());
    if (this.#phase === 'registering') {
      if (parsed.kind === 'message' && parsed.message.type === 'registered')
        void this.#register(parsed.message);
      else if (parsed.kind !== 'message' || parsed.message.type !== 'error')
        this.#close(AGENT_CLOSE.malformed);
      return;
    }
    if (parsed.kind === 'message') {
      if (parsed.message.type === 'config_update') this.#stepTimer?.cancel();
      this.#events.message(parsed.message);
      return;
    }
    if (parsed.kind === 'unknown') {
      if (parsed.id !== undefined)
        this.#refuse(parsed.id, 'unknown_command', `unknown command ${parsed.type}`);
      return;
    }
    this.#deps.logger.warn({ type: parsed.type, why: parsed.why }, 'link.malformed_message');
    if (parsed.id !== undefined) this.#refuse(parsed.id, 'invalid', parsed.why);
    if (this.#malformed.add(this.#deps.clock.monotonicMs())) this.#close(AGENT_CLOSE.malformed);
  }

  #refuse(id: string, code: RefusalCode, error: string): void {
    this.send({ type: 'ack', id, ok: false, code, error });
  }

  async #register(registered: Registered): Promise<void> {
    this.#phase = 'reporting';
    this.#awaitStep();
    try {
      await this.#events.registered(registered);
      const capacity = await this.#events.capacity();
      if (this.#phase !== 'reporting') return;
      this.sendFrame(encodeAgentFrame(capacity));
    } catch (error) {
      this.#deps.logger.error({ error: errorText(error) }, 'link.registration_failed');
      this.#close(AGENT_CLOSE.leaving);
      return;
    }
    this.#phase = 'ready';
    this.#events.ready();
    const beat = () => this.send(this.#events.heartbeat());
    beat();
    this.#heartbeatTimer = this.#deps.clock.setInterval(beat, registered.heartbeat_interval_ms);
  }

  /** Restarts the silence timer. Called for every frame, because any frame shows that the connection works. */
  #listen(): void {
    this.#silenceTimer?.cancel();
    this.#silenceTimer = this.#deps.clock.setTimeout(() => {
      this.#close(AGENT_CLOSE.timed_out);
    }, READ_DEADLINE_MS);
  }

  #close(code: number): void {
    if (this.#phase === 'ended') return;
    this.#closedWith = code;
    this.#socket.close(code);
    // The peer of a half-open connection never answers the close, and the reconnect must not wait for that answer.
    if (code !== AGENT_CLOSE.leaving) this.#end(code);
  }

  #end(code: number): void {
    if (this.#phase === 'ended') return;
    const wasReady = this.#phase === 'ready';
    this.#phase = 'ended';
    for (const timer of [this.#stepTimer, this.#silenceTimer, this.#heartbeatTimer]) timer?.cancel();
    this.#events.ended(this.#linkEnd(code), wasReady);
  }

  #linkEnd(code: number): LinkEnd {
    if (this.#refused !== null) return { kind: 'refused', ...this.#refused, enrolling: this.#enrolling };
    if (this.#openedAtMs === null) return { kind: 'unreachable' };
    const connectedMs = this.#deps.clock.monotonicMs() - this.#openedAtMs;
    return { kind: 'closed', code: this.#closedWith ?? code, connectedMs };
  }
}

/** Message of an error envelope, or the text of another answer. */
function refusalText(body: string): string {
  try {
    const message = (JSON.parse(body) as { error?: { message?: unknown } }).error?.message;
    if (typeof message === 'string') return errorText(message);
  } catch {
    // The body is not an error envelope; the status is sufficient for the report.
  }
  return '';
}
