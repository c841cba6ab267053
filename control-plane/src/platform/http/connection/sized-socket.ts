import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

/** Message limits of sockets during their upgrade. */
const limits = new WeakMap<Duplex, number>();

interface SocketOptions {
  maxPayload: number;
}

type SetSocket = (this: WebSocket, socket: Duplex, head: Buffer, options: SocketOptions) => void;

// Used by the ws server to hand over a connection; missing in its type declarations.
const { setSocket } = WebSocket.prototype as unknown as { setSocket: SetSocket };

/** Sets the longest message of a socket after its upgrade, in bytes. */
export function limitPayload(socket: Duplex | undefined, maxBytes: number): void {
  if (socket) limits.set(socket, maxBytes);
}

type Send = (this: WebSocket, ...words: unknown[]) => void;
const send = WebSocket.prototype.send as Send;

/**
 * A server-side WebSocket whose message limit depends on its operation; longer messages close it with 1009.
 *
 * Messages of one turn of the event loop are written together: they come in bursts (after a registration, candidates
 * of a negotiation), and a write of its own would cost more than the message.
 */
export class SizedWebSocket extends WebSocket {
  #connection: Duplex | null = null;
  #corked = false;

  setSocket(socket: Duplex, head: Buffer, options: SocketOptions): void {
    const maxPayload = limits.get(socket) ?? options.maxPayload;
    this.#connection = socket;
    setSocket.call(this, socket, head, { ...options, maxPayload });
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
