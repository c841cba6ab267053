/**
 * Control plane without a database: registers every agent, configures it, confirms its reports, and simulates faults on
 * request.
 *
 * Owns its server, the sockets, and one timer for each delayed frame and close.
 *
 * Teardown: `close` cancels the timers, cuts the sockets and ends the server.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { type Clock, type Random, systemClock, systemRandom, type Timer } from '@footlight/platform';
import {
  type Ack,
  type AgentMessage,
  type ControlCommand,
  type ControlMessage,
  isCommand,
  parseAgentFrame,
  type Registered,
} from '@footlight/protocol/agent';
import { type WebSocket, WebSocketServer } from 'ws';

/** Number of received messages kept; older ones are dropped. */
const KEPT_MESSAGES = 10_000;

/** Command without an id; the fake assigns the id. */
export type CommandBody = ControlCommand extends infer C
  ? C extends ControlCommand
    ? Omit<C, 'id'>
    : never
  : never;

/** A call of an agent outside its socket. */
export interface HttpCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Parsed JSON; null: the call has no body. */
  body: unknown;
}

/** Faults and answers. Tests may change every field while the fake runs. */
export interface FakeControlOptions {
  /** Answers the upgrade with this HTTP status; null = accepts. */
  refuse?: (
    headers: IncomingHttpHeaders,
    dial: number,
  ) => { status: number; message: string; retryAfterSecs?: number } | null;
  registered?: (headers: IncomingHttpHeaders) => Partial<Registered>;
  /** Settings of the config_update after each registration. */
  settings?: Record<string, string | number | boolean>;
  /** Sends no answer to register, for tests of deadlines. */
  mute?: boolean;
  /** Sends no config_update after registered, for tests of deadlines. */
  withoutConfig?: boolean;
  /** Confirms reliable messages at once. Default: true. */
  autoSeen?: boolean;
  /** Milliseconds before each frame that is sent. */
  delayMs?: number;
  /** Sends each command twice, as after a lost ack. */
  repeatsCommands?: boolean;
  /** Closes each link this long after its registration. */
  closes?: { afterMs: number; code: number };
  /** Called with each text frame; `node` is the host's name. */
  onFrame?: (node: string, direction: 'sent' | 'received', text: string) => void;
  /** Called for a frame that is not a message of the protocol. Default: throws, which ends the test. */
  onMalformed?: (node: string, why: string) => void;
  /** Answers an HTTP call with a status and a JSON body; undefined = no answer. Default: no call is answered. */
  answers?: (call: HttpCall) => { status: number; body: object } | undefined;
  /** Clock for stamps and delays. Default: the machine's clock. */
  clock?: Clock;
  /** Source of ids. Default: the machine's generator. */
  random?: Random;
}

/** A link of an agent. */
interface Link {
  readonly socket: WebSocket;
  readonly node: string;
}

export class FakeControl {
  readonly messages: AgentMessage[] = [];
  readonly dials: IncomingHttpHeaders[] = [];
  readonly closes: number[] = [];
  readonly hostId: string;
  options: FakeControlOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #timers = new Set<Timer>();
  /** The newest open link. */
  #live: Link | null = null;
  readonly #watchers = new Set<() => void>();

  private constructor(options: FakeControlOptions) {
    this.options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.hostId = this.#random.uuid();
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on('upgrade', (request, socket, head) => {
      this.dials.push(request.headers);
      const refusal = this.options.refuse?.(request.headers, this.dials.length);
      if (refusal) {
        refuseUpgrade(socket, refusal);
        this.#changed();
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#accept(ws, request.headers));
    });
  }

  static async listen(options: FakeControlOptions = {}, port = 0): Promise<FakeControl> {
    const control = new FakeControl(options);
    await new Promise<void>((resolve, reject) => {
      control.#server.once('error', reject);
      control.#server.listen(port, '127.0.0.1', resolve);
    });
    return control;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.port}`);
  }

  get connected(): boolean {
    return this.#live !== null;
  }

  send(message: ControlMessage): void {
    if (this.#live !== null) this.#sendOn(this.#live, message);
  }

  /** Sends a frame unchanged. */
  sendText(text: string | Buffer): void {
    this.#live?.socket.send(text);
  }

  /** Sends a command and waits for the ack. */
  async command(body: CommandBody, id: string = this.#random.uuid()): Promise<Ack> {
    const from = this.messages.length;
    this.send({ ...body, id } as ControlCommand);
    return this.wait('ack', (ack) => ack.id === id, from);
  }

  /** First message of this type that the predicate accepts, from index `from` on. */
  async wait<T extends AgentMessage['type']>(
    type: T,
    matches: (message: Extract<AgentMessage, { type: T }>) => boolean = () => true,
    from = 0,
  ): Promise<Extract<AgentMessage, { type: T }>> {
    type Wanted = Extract<AgentMessage, { type: T }>;
    const found = await this.until(() =>
      this.messages.slice(from).find((message) => message.type === type && matches(message as Wanted)),
    );
    return found as Wanted;
  }

  /** Evaluates `read` after each change, until it returns a value. */
  until<T>(read: () => T | undefined | false | null): Promise<T> {
    return new Promise((resolve) => {
      const check = () => {
        const value = read();
        if (!value) return;
        this.#watchers.delete(check);
        resolve(value);
      };
      this.#watchers.add(check);
      check();
    });
  }

  /** Closes the connection without a close frame, as a crash does. */
  cut(): void {
    this.#live?.socket.terminate();
  }

  closeWith(code: number): void {
    this.#live?.socket.close(code);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const text = (await request.toArray().catch(() => [])).join('');
    const answer = this.options.answers?.({
      ...{ method, headers, path: url },
      body: text === '' ? null : JSON.parse(text),
    });
    if (answer === undefined) return;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
    this.#changed();
  }

  #accept(socket: WebSocket, headers: IncomingHttpHeaders): void {
    const link = { socket, node: String(headers['x-service-node'] ?? '') };
    this.#live = link;
    socket.on('message', (data) => this.#receive(link, data.toString(), headers));
    socket.on('close', (code) => {
      this.closes.push(code);
      if (this.#live === link) this.#live = null;
      this.#changed();
    });
    this.#changed();
  }

  #receive(link: Link, text: string, headers: IncomingHttpHeaders): void {
    this.options.onFrame?.(link.node, 'received', text);
    const parsed = parseAgentFrame(text);
    if (parsed.kind !== 'message') {
      const why = `the agent sent ${JSON.stringify(parsed)}`;
      if (this.options.onMalformed === undefined) throw new Error(why);
      this.options.onMalformed(link.node, why);
      return;
    }
    const { message } = parsed;
    this.messages.push(message);
    if (this.messages.length > KEPT_MESSAGES) this.messages.shift();
    if (message.type === 'register' && !this.options.mute) this.#register(link, headers);
    if (message.type === 'heartbeat')
      this.#sendOn(link, { type: 'heartbeat_ack', echo: message.ts, server_ts: this.#clock.nowMs() });
    if ('seq' in message && message.seq !== undefined && (this.options.autoSeen ?? true))
      this.#sendOn(link, { type: 'seen', seq: message.seq });
    this.#changed();
  }

  #register(link: Link, headers: IncomingHttpHeaders): void {
    const enrolling = String(headers.authorization ?? '').startsWith('Enroll ');
    this.#sendOn(link, {
      type: 'registered',
      protocol: 1,
      host_id: this.hostId,
      ...(enrolling ? { node_secret: 'a-secret-for-tests' } : {}),
      heartbeat_interval_ms: 5_000,
      session_grace_secs: 600,
      server_ts: this.#clock.nowMs(),
      last_seq: null,
      ...this.options.registered?.(headers),
    });
    const { closes, withoutConfig, settings = {} } = this.options;
    if (closes !== undefined) this.#later(closes.afterMs, () => link.socket.close(closes.code));
    if (withoutConfig) return;
    this.#sendOn(link, { type: 'config_update', id: this.#random.uuid(), settings, console_config: null });
  }

  #sendOn(link: Link, message: ControlMessage): void {
    const text = JSON.stringify(message);
    const { delayMs = 0, repeatsCommands = false } = this.options;
    const times = repeatsCommands && isCommand(message) ? 2 : 1;
    const send = () => {
      for (let sent = 0; sent < times; sent += 1) {
        link.socket.send(text);
        this.options.onFrame?.(link.node, 'sent', text);
      }
    };
    if (delayMs === 0) send();
    else this.#later(delayMs, send);
  }

  #later(delayMs: number, run: () => void): void {
    const timer = this.#clock.setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

function refuseUpgrade(
  socket: Duplex,
  { status, message, retryAfterSecs }: { status: number; message: string; retryAfterSecs?: number },
): void {
  const retryAfter = retryAfterSecs === undefined ? '' : `Retry-After: ${retryAfterSecs}\r\n`;
  const body = JSON.stringify({ error: { code: 'refused', message } });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${retryAfter}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
