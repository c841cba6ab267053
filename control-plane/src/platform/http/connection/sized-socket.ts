import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

/** Message limits of sockets that are being upgraded. */
const limits = new WeakMap<Duplex, number>();

interface SocketOptions {
  maxPayload: number;
}

type SetSocket = (this: WebSocket, socket: Duplex, head: Buffer, options: SocketOptions) => void;

// Part of how the ws server hands a connection over, absent from its type declarations.
const { setSocket } = WebSocket.prototype as unknown as { setSocket: SetSocket };

/** Sets the longest message that the socket will take once it is upgraded, in bytes. */
export function limitPayload(socket: Duplex | undefined, maxBytes: number): void {
  if (socket) limits.set(socket, maxBytes);
}

type Send = (this: WebSocket, ...words: unknown[]) => void;
const send = WebSocket.prototype.send as Send;

/**
 * A server-side WebSocket whose message limit depends on the operation that it serves; longer ones close with 1009.
 *
 * What is said in one turn of the event loop leaves in one write: messages to one socket come in bunches (what follows
 * a registration, the candidates of a negotiation), and each write of its own would cost more than the message.
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
