import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@footlight/platform';
import x11, { type Reply, type XClient, type XDisplay, type XScreen } from 'x11';
import { withPatience } from '../../patience.ts';

const SOCKET_DIRECTORY = '/tmp/.X11-unix';
/**
 * Time limit of a connection attempt, far above the answer time of a working display, so only a hanging server exceeds
 * it. Chosen, not measured.
 */
const CONNECT_MS = withPatience(5_000);
/** The same time as DISPLAY_SILENCE_MS: a server that does not answer for this long has failed. */
const ANSWER_MS = withPatience(5_000);

/**
 * One connection to the session's X display, shared by input, cursor, clipboard and presence. The cookie comes from
 * XAUTHORITY. A failed request (for example for a closed window) is counted instead of thrown, because apps close
 * windows at any time.
 *
 * open → closed, by close() or because the server ended; afterwards all requests reject. Owner: the session's screen,
 * which first closes all objects that use the connection. The server frees windows, grabs and event masks of a closed
 * connection.
 */
export class XConnection {
  readonly display: XDisplay;
  readonly client: XClient;
  readonly screen: XScreen;
  /** Clock for all time limits of this connection. */
  readonly clock: Clock;
  #closed = false;
  #failedRequests = 0;

  private constructor(display: XDisplay, screen: XScreen, clock: Clock, onLost: () => void) {
    this.display = display;
    this.client = display.client;
    this.screen = screen;
    this.clock = clock;
    this.client.on('error', () => {
      this.#failedRequests++;
    });
    this.client.on('end', () => {
      if (!this.#closed) onLost();
      this.#closed = true;
    });
  }

  /**
   * @param display such as ":42"
   * @param onLost called when the server closes the connection, but not after close()
   * @throws when the server refuses or does not answer within 5 s
   */
  static open(display: string, clock: Clock, onLost: () => void): Promise<XConnection> {
    // Checked here, because without the socket the library would try a TCP connection.
    if (!existsSync(join(SOCKET_DIRECTORY, `X${display.slice(1)}`))) {
      return Promise.reject(new Error(`there is no display ${display}`));
    }
    return new Promise((resolve, reject) => {
      const limit = clock.setTimeout(
        () => reject(new Error(`display ${display} did not answer within ${CONNECT_MS} ms`)),
        CONNECT_MS,
      );
      x11.createClient({ display, shm: false }, (error, opened) => {
        limit.cancel();
        const screen = opened?.screen[0];
        if (error || !screen) reject(new Error(`display ${display}: ${String(error ?? 'no screen')}`));
        else resolve(new XConnection(opened, screen, clock, onLost));
      });
    });
  }

  get root(): number {
    return this.screen.root;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get failedRequests(): number {
    return this.#failedRequests;
  }

  /**
   * Awaits the reply of one request.
   * @throws when the server refuses the request, or does not answer within 5 s
   */
  request<T>(send: (callback: Reply<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new Error('the display connection is closed'));
        return;
      }
      const limit = this.clock.setTimeout(
        () => reject(new Error(`the display did not answer within ${ANSWER_MS} ms`)),
        ANSWER_MS,
      );
      send((error, value) => {
        limit.cancel();
        if (error) reject(error instanceof Error ? error : new Error(String(error)));
        else resolve(value);
      });
    });
  }

  /** Waits until the server has processed all sent requests. */
  async settle(): Promise<void> {
    await this.request<unknown>((callback) => this.client.GetInputFocus(callback));
  }

  atom(name: string): Promise<number> {
    return this.request<number>((callback) => this.client.InternAtom(false, name, callback));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.client.terminate();
  }
}
