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

/** A normal close; the page uses no other codes. */
const NORMAL = 1000;
/** RFC 6455, 7.4.1: no close frame was received. */
const ABNORMAL = 1006;

/**
 * URL to dial.
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
 * Attempts at the signaling socket, one at a time. Events of abandoned attempts are ignored.
 *
 * closed → (open) → connecting → open → closed; onClose ends an attempt exactly once, unless close() or the next open()
 * abandoned it. Owns the WebSocket; close() frees it.
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
    // A socket that was dialled early may already be open.
    if (socket.readyState === WebSocket.OPEN) queueMicrotask(() => isCurrent() && this.#events.onOpen());
    socket.onmessage = (event: MessageEvent) => {
      if (!isCurrent() || typeof event.data !== 'string' || event.data.length > MAX_SIGNAL_FRAME_BYTES)
        return;
      const parsed = parseServiceFrame(event.data);
      // Ignores messages that only a newer service has.
      if (parsed.kind === 'message') this.#events.onMessage(parsed.message);
    };
  }

  /** Dropped when the socket is not open; important messages are repeated after a reconnect. */
  send(message: BrowserMessage): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(encodeBrowserFrame(message));
  }

  /** @param bye the viewer leaves, so the host closes its connection at once */
  close(bye: boolean): void {
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null) return;
    if (bye && socket.readyState === WebSocket.OPEN) socket.send(encodeBrowserFrame({ type: 'bye' }));
    socket.close(NORMAL);
  }
}
