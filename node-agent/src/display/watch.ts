import { connect, type Socket } from 'node:net';
import { type Clock, SilenceWatch, type Timer } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { readPaced } from '../runtime/programs/child.ts';
import { setupRequest } from './cookie.ts';

/** A fifth of the limit, so one late answer does not raise an alarm. */
const PING_PERIOD_MS = 1_000;
/**
 * Longer than an X server needs for a heavy frame in software; a server that is silent for longer shows a frozen
 * picture. Chosen, not measured.
 */
export const DISPLAY_SILENCE_MS = withPatience(5_000);
/** GetInputFocus: the smallest request that has an answer. */
const PING = Buffer.from([43, 0, 1, 0]);

/**
 * Pings a display every second on its own connection and reports once when no answer came for five seconds. A hanging
 * server keeps its sockets open, so only an answer proves that it works.
 *
 * Runs from its construction until it reports or close(), which frees timers and connection. Owner: the display, which
 * closes it when the server ends.
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
    // The connection closes when the server ends; the session handles the server's exit.
    void readPaced(this.#socket, clock, () => {
      this.#open = true;
      this.#silence.heard();
    });
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
