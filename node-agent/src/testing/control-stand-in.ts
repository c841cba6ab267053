import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type Ack,
  type AgentMessage,
  type ControlCommand,
  type ControlMessage,
  parseAgentFrame,
  type Registered,
} from '@footlight/protocol/agent';
import { type WebSocket, WebSocketServer } from 'ws';

/** Command without an id; the stand-in assigns the id. */
export type CommandBody = ControlCommand extends infer C
  ? C extends ControlCommand
    ? Omit<C, 'id'>
    : never
  : never;

export interface StandInOptions {
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
  /** Confirms reliable messages at once. */
  autoSeen?: boolean;
}

/** Stand-in for the control plane's /agent/ws: registers every agent and keeps its messages. */
export class ControlStandIn {
  readonly messages: AgentMessage[] = [];
  readonly dials: IncomingHttpHeaders[] = [];
  readonly closes: number[] = [];
  readonly hostId = randomUUID();
  options: StandInOptions;
  #server: Server;
  #sockets = new WebSocketServer({ noServer: true });
  #live: WebSocket | null = null;
  #lastSeq = 0;
  #watchers = new Set<() => void>();

  private constructor(options: StandInOptions) {
    this.options = options;
    this.#server = createServer();
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

  static async listen(options: StandInOptions = {}, port = 0): Promise<ControlStandIn> {
    const standIn = new ControlStandIn({ autoSeen: true, ...options });
    await new Promise<void>((resolve) => standIn.#server.listen(port, '127.0.0.1', resolve));
    return standIn;
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
    this.#live?.send(JSON.stringify(message));
  }

  sendText(text: string | Buffer): void {
    this.#live?.send(text);
  }

  /** Sends a command and waits for the ack. */
  async command(body: CommandBody, id: string = randomUUID()): Promise<Ack> {
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

  /** Evaluates a condition after each change. */
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
    this.#live?.terminate();
  }

  closeWith(code: number): void {
    this.#live?.close(code);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(ws: WebSocket, headers: IncomingHttpHeaders): void {
    this.#live = ws;
    ws.on('message', (data) => this.#receive(ws, data.toString(), headers));
    ws.on('close', (code) => {
      this.closes.push(code);
      if (this.#live === ws) this.#live = null;
      this.#changed();
    });
    this.#changed();
  }

  #receive(ws: WebSocket, text: string, headers: IncomingHttpHeaders): void {
    const parsed = parseAgentFrame(text);
    if (parsed.kind !== 'message') throw new Error(`the agent sent ${JSON.stringify(parsed)}`);
    const { message } = parsed;
    this.messages.push(message);
    if (message.type === 'register' && !this.options.mute) this.#register(ws, headers);
    if (message.type === 'heartbeat') {
      ws.send(JSON.stringify({ type: 'heartbeat_ack', echo: message.ts, server_ts: Date.now() }));
    }
    if ('seq' in message && message.seq !== undefined) {
      this.#lastSeq = Math.max(this.#lastSeq, message.seq);
      if (this.options.autoSeen) ws.send(JSON.stringify({ type: 'seen', seq: message.seq }));
    }
    this.#changed();
  }

  #register(ws: WebSocket, headers: IncomingHttpHeaders): void {
    const enrolling = String(headers.authorization ?? '').startsWith('Enroll ');
    const registered: Registered = {
      type: 'registered',
      protocol: 1,
      host_id: this.hostId,
      ...(enrolling ? { node_secret: 'a-secret-for-tests' } : {}),
      heartbeat_interval_ms: 5_000,
      session_grace_secs: 600,
      server_ts: Date.now(),
      last_seq: null,
      ...this.options.registered?.(headers),
    };
    ws.send(JSON.stringify(registered));
    if (this.options.withoutConfig) return;
    const update: ControlMessage = {
      type: 'config_update',
      id: randomUUID(),
      settings: this.options.settings ?? {},
      console_config: null,
    };
    ws.send(JSON.stringify(update));
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
