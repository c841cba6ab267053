/** One attempt at the signaling socket after another. Events of an attempt that was given up are not heard. */
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

/** 1000 is a farewell; anything else of ours has no meaning on this socket. */
const NORMAL = 1000;
const ABNORMAL = 1006;

/**
 * Address to dial.
 * @param base address of the page, for a relative url
 * @throws TypeError for what is no URL
 */
export function signalingUrl(access: Pick<SignalingAccess, 'url' | 'token'>, base: string): string {
  const url = new URL(access.url, base);
  if (url.protocol === 'https:') url.protocol = 'wss:';
  if (url.protocol === 'http:') url.protocol = 'ws:';
  if (access.token !== '') url.searchParams.set('token', access.token);
  return url.toString();
}

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
      // An address that cannot be dialled is like one that does not answer.
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
    // One that was dialled before may be open already.
    if (socket.readyState === WebSocket.OPEN) queueMicrotask(() => isCurrent() && this.#events.onOpen());
    socket.onmessage = (event: MessageEvent) => {
      if (!isCurrent() || typeof event.data !== 'string' || event.data.length > MAX_SIGNAL_FRAME_BYTES)
        return;
      const parsed = parseServiceFrame(event.data);
      // A newer service may say things that this page need not understand.
      if (parsed.kind === 'message') this.#events.onMessage(parsed.message);
    };
  }

  /** Dropped when the socket is not open: what matters is said again after a reconnect. */
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
