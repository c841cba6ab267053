/** The browser's time, randomness and connections. */
import type { Timer } from '@footlight/platform/timer';
import type { Environment } from './types.ts';

/** A random uuid (version 4). Works also on pages without a secure context, where randomUUID does not exist. */
export function randomUuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Time, randomness, sockets and peer connections of this browser. */
export function browserEnvironment(): Environment {
  return {
    nowUnixMs: () => performance.timeOrigin + performance.now(),
    monotonicMs: () => performance.now(),
    setTimeout: (work, ms): Timer => {
      const id = setTimeout(work, ms);
      return { cancel: () => clearTimeout(id) };
    },
    setInterval: (work, ms): Timer => {
      const id = setInterval(work, ms);
      return { cancel: () => clearInterval(id) };
    },
    random: Math.random,
    uuid: randomUuid,
    createWebSocket: (url) => new WebSocket(url),
    createPeerConnection: (configuration) => new RTCPeerConnection(configuration),
  };
}

/** Clean-up actions. run() executes each action once, the newest first. */
export class Cleanup {
  #undo: (() => void)[] = [];

  add(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Adds a listener that run() removes. */
  listen(
    target: EventTarget,
    type: string,
    listener: (event: Event) => void,
    options?: AddEventListenerOptions,
  ): void {
    target.addEventListener(type, listener, options);
    this.add(() => target.removeEventListener(type, listener, options));
  }

  timer(timer: Timer): void {
    this.add(() => timer.cancel());
  }

  run(): void {
    for (const undo of this.#undo.splice(0).reverse()) undo();
  }
}
