import {
  type BrowserMessage,
  encodeBrowserFrame,
  MAX_SIGNAL_FRAME_BYTES,
  parseServiceFrame,
  type ServiceMessage,
} from '@footlight/protocol/signal';
import type { Environment, SignalingAccess } from '../types.ts';

export interface SocketEvents {
  onOpen(): void;
  onMessage(message: ServiceMessage): void;
  onClose(code: number): void;
}

/** Close code of a normal close; the page uses no other code. */
const NORMAL = 1000;
/** Close code if no close frame was received. RFC 6455, 7.4.1. */
const ABNORMAL = 1006;

/**
 * The URL to open.
 * @param base address of the page, for a relative url
 * @throws TypeError for an invalid URL
 */
export function signalingUrl(access: Pick<SignalingAccess, 'url' | 'token'>, base: string): string {
  const url = new URL(access.url, base);
  if (url.protocol === 'https:') url.protocol = 'wss:';
  if (url.protocol === 'http:') url.protocol = 'ws:';
  if (access.token !== '') url.searchParams.set('token', access.token);
  return url.toString();
}

/**
 * Attempts to open the signaling socket, one at a time. Events of abandoned attempts are ignored.
 *
 * closed → (open) → connecting → open → closed; onClose ends an attempt exactly once, except an attempt that close() or
 * the next open() has abandoned. Owns the WebSocket; close() frees it.
 */
export class SignalingSocket {
  #environment: Environment;
  #events: SocketEvents;
  #socket: WebSocket | null = null;

  constructor(environment: Environment, events: SocketEvents) {
    this.#environment = environment;
    this.#events = events;
  }

  open(url: string): void {
    this.close(false);
    let socket: WebSocket;
    try {
      socket = this.#environment.createWebSocket(url);
    } catch {
      // An invalid URL counts as a failed attempt.
      this.#events.onClose(ABNORMAL);
      return;
    }
    this.#socket = socket;
    const isCurrent = () => this.#socket === socket;
    socket.onopen = () => {
      if (isCurrent()) this.#events.onOpen();
    };
    socket.onclose = (event) => {
      if (!isCurrent()) return;
      this.#socket = null;
      this.#events.onClose(event.code);
    };
    // A socket that was opened before this call may be open already.
    if (socket.readyState === WebSocket.OPEN) queueMicrotask(() => isCurrent() && this.#events.onOpen());
    socket.onmessage = (event: MessageEvent) => {
      if (!isCurrent() || typeof event.data !== 'string' || event.data.length > MAX_SIGNAL_FRAME_BYTES)
        return;
      const parsed = parseServiceFrame(event.data);
      // Ignores messages that this version of the page does not know.
      if (parsed.kind === 'message') this.#events.onMessage(parsed.message);
    };
  }

  /** Drops the message when the socket is not open. Important messages are repeated after a reconnect. */
  send(message: BrowserMessage): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(encodeBrowserFrame(message));
  }

  /** @param bye whether the viewer leaves, so that the host closes its connection at once */
  close(bye: boolean): void {
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null) return;
    if (bye && socket.readyState === WebSocket.OPEN) socket.send(encodeBrowserFrame({ type: 'bye' }));
    socket.close(NORMAL);
  }
}
