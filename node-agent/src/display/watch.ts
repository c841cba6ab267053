import { connect, type Socket } from 'node:net';
import { type Clock, SilenceWatch, type Timer } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { readPaced } from '../runtime/programs/child.ts';
import { setupRequest } from './cookie.ts';

/** A fifth of DISPLAY_SILENCE_MS, so that one late answer does not count as a failure. */
const PING_PERIOD_MS = 1_000;
/**
 * Time without an answer after which the display has failed. It is longer than an X server needs to draw a heavy frame
 * in software. Chosen, not measured.
 */
export const DISPLAY_SILENCE_MS = withPatience(5_000);
/** GetInputFocus: the smallest request that has an answer. */
const PING = Buffer.from([43, 0, 1, 0]);

/**
 * Pings a display every second on a separate connection, and reports once when no answer came for five seconds. A
 * hanging server keeps its sockets open, so only an answer proves that the server works.
 *
 * The watch runs from its construction until it reports, or until close(), which frees timers and connection. Owner:
 * the display, which closes it when the server ends. Source: X Window System Protocol, GetInputFocus.
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
    // The end of the connection is ignored, because the session handles the server's exit.
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
