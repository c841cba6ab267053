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

/** A server-side WebSocket whose message limit depends on the operation that it serves; longer ones close with 1009. */
export class SizedWebSocket extends WebSocket {
  setSocket(socket: Duplex, head: Buffer, options: SocketOptions): void {
    const maxPayload = limits.get(socket) ?? options.maxPayload;
    setSocket.call(this, socket, head, { ...options, maxPayload });
  }
}
