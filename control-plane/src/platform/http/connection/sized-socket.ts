import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

/** Message limit of each socket, stored from the upgrade request until the WebSocket exists. */
const limits = new WeakMap<Duplex, number>();

interface SocketOptions {
  maxPayload: number;
  maxBufferedChunks?: number;
}

type SetSocket = (this: WebSocket, socket: Duplex, head: Buffer, options: SocketOptions) => void;

// The server of the `ws` library passes a connection to a WebSocket with this method; its type declarations do not
// contain it.
const { setSocket } = WebSocket.prototype as unknown as { setSocket: SetSocket };

/** Sets the maximum message size (bytes) that a socket has after its upgrade. */
export function limitPayload(socket: Duplex | undefined, maxBytes: number): void {
  if (socket) limits.set(socket, maxBytes);
}

/**
 * Weight of each kind of frame. Pings and pongs need as much time as messages, but features limit only messages. A
 * client that sent only pongs delayed every other request by 0.6 s (2 cores).
 */
const WEIGHTS: ReadonlyMap<unknown, number> = new Map([
  ['message', 1],
  ['ping', 40],
  ['pong', 40],
]);
/**
 * Maximum weight per turn of the event loop. The 2,000 messages of an agent's burst may each arrive in their own TLS
 * record, and each record also has weight one.
 */
const MAX_WEIGHT_PER_TURN = 6_000;
/**
 * Maximum pieces of an incomplete message. In small packets 1 MiB has 800 pieces. With the library's limit of 262,144,
 * a message in TLS records of one byte blocked the service for more than 8 s (2 cores).
 */
const MAX_PIECES = 4_096;

type Send = (this: WebSocket, ...words: unknown[]) => void;
const send = WebSocket.prototype.send as Send;

/**
 * A server-side WebSocket whose message limit depends on its operation; a longer message closes the socket with 1009.
 * Too many frames or TLS records in one turn of the event loop terminate it.
 *
 * Messages that are sent in one iteration of the event loop are written together. They are sent in bursts (after a
 * registration, ICE candidates of a negotiation), and a separate write costs more than a message.
 */
export class SizedWebSocket extends WebSocket {
  #connection: Duplex | null = null;
  #corked = false;
  #weight = 0;

  setSocket(socket: Duplex, head: Buffer, options: SocketOptions): void {
    const maxPayload = limits.get(socket) ?? options.maxPayload;
    this.#connection = socket;
    setSocket.call(this, socket, head, { ...options, maxPayload, maxBufferedChunks: MAX_PIECES });
    socket.on('data', () => this.#carry(1));
  }

  override emit(event: string | symbol, ...words: unknown[]): boolean {
    this.#carry(WEIGHTS.get(event) ?? 0);
    return super.emit(event, ...words);
  }

  #carry(weight: number): void {
    if (weight === 0) return;
    if (this.#weight === 0) setImmediate(SizedWebSocket.#endTurn, this);
    this.#weight += weight;
    if (this.#weight > MAX_WEIGHT_PER_TURN) this.terminate();
  }

  /** All sockets share this function, because there may be ten thousand. */
  static #endTurn(socket: SizedWebSocket): void {
    socket.#weight = 0;
  }

  override send(...words: unknown[]): void {
    const connection = this.#connection;
    if (connection !== null && !this.#corked) {
      this.#corked = true;
      connection.cork();
      process.nextTick(() => {
        this.#corked = false;
        connection.uncork();
      });
    }
    send.apply(this, words);
  }
}
