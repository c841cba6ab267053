import { connect, type Socket } from 'node:net';
import type { Clock, Timer } from '@footlight/platform';
import { SilenceWatch } from '../platform/silence-watch.ts';
import { setupRequest } from './cookie.ts';

const PING_PERIOD_MS = 1_000;
export const DISPLAY_SILENCE_MS = 5_000;
/** GetInputFocus: the smallest request that has an answer. */
const PING = Buffer.from([43, 0, 1, 0]);

/**
 * Asks a display server something every second on a connection of its own, and tells once when it has not
 * answered for five seconds: a server that hangs holds its sockets open, so only an answer proves it alive.
 * Source: X Window System Protocol, GetInputFocus.
 */
export class DisplayWatch {
  readonly #socket: Socket;
  readonly #timer: Timer;
  readonly #silence: SilenceWatch;
  #open = false;

  constructor(socketPath: string, cookie: Buffer, clock: Clock, onSilent: () => void) {
    this.#silence = new SilenceWatch(clock, DISPLAY_SILENCE_MS, () => {
      this.close();
      onSilent();
    });
    this.#socket = connect(socketPath);
    this.#socket.on('connect', () => this.#socket.write(setupRequest(cookie)));
    this.#socket.on('data', () => {
      this.#open = true;
      this.#silence.heard();
    });
    // A server that ends closes this too; its own exit is what the session hears of.
    this.#socket.on('error', () => undefined);
    this.#timer = clock.setInterval(() => {
      if (this.#open && this.#socket.writable) this.#socket.write(PING);
    }, PING_PERIOD_MS);
  }

  close(): void {
    this.#silence.close();
    this.#timer.cancel();
    this.#socket.destroy();
  }
}
