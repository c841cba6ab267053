import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

/** Message limits of sockets during their upgrade. */
const limits = new WeakMap<Duplex, number>();

interface SocketOptions {
  maxPayload: number;
  maxBufferedChunks?: number;
}

type SetSocket = (this: WebSocket, socket: Duplex, head: Buffer, options: SocketOptions) => void;

// Used by the ws server to hand over a connection; missing in its type declarations.
const { setSocket } = WebSocket.prototype as unknown as { setSocket: SetSocket };

/** Sets the longest message of a socket after its upgrade, in bytes. */
export function limitPayload(socket: Duplex | undefined, maxBytes: number): void {
  if (socket) limits.set(socket, maxBytes);
}

/**
 * What a frame counts. Pings and pongs take the same time as messages, and features limit only messages of open
 * sockets. One client that sent nothing but pongs delayed every other request by 0.6 s (2 cores).
 */
const WEIGHTS: ReadonlyMap<unknown, number> = new Map([
  ['message', 1],
  ['ping', 40],
  ['pong', 40],
]);
/**
 * Weight of one turn of the event loop. The messages of an agent's burst (2,000) may come in a TLS record each, and a
 * record counts one as well.
 */
const MAX_WEIGHT_PER_TURN = 6_000;
/**
 * Pieces of a message that is not complete. 1 MiB has 800 in small packets. The library's 262,144 stopped the service for
 * more than 8 s, when somebody sent a message in TLS records of one byte (2 cores).
 */
const MAX_PIECES = 4_096;

type Send = (this: WebSocket, ...words: unknown[]) => void;
const send = WebSocket.prototype.send as Send;

/**
 * A server-side WebSocket whose message limit depends on its operation; longer messages close it with 1009. More frames or
 * TLS records than one turn of the event loop can carry cut it.
 *
 * Messages of one iteration of the event loop are written together: they come in bursts (after a registration,
 * candidates of a negotiation), and a separate write would cost more than the message.
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

  /** Shared by all sockets, which are ten thousand. */
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
