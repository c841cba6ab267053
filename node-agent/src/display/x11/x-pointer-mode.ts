import type { Timer } from '@footlight/platform';
import type { XConnection } from './x-connection.ts';

/**
 * X reports no grabs. A try costs one request, and a quarter of a second is not noticed by a person who starts to
 * aim.
 */
const POLL_MS = 250;
const GRANTED = 0;
const ASYNCHRONOUS = 1;
const ALL_BUTTONS = 0x1f00;

/**
 * Reports when an app captures the pointer, as games do: it hides and grabs the pointer. X reports no grabs, so while
 * the pointer is hidden and no button is down, a grab is tried and released at once if it succeeds.
 *
 * absolute ⇄ relative, checked each POLL_MS. Owner: the desktop of the session. close() frees the timer.
 */
export class XPointerMode {
  readonly #x: XConnection;
  readonly #isHidden: () => boolean;
  readonly #onChange: (relative: boolean) => void;
  readonly #timer: Timer;
  #relative = false;
  #isPolling = false;

  constructor(x: XConnection, isHidden: () => boolean, onChange: (relative: boolean) => void) {
    this.#x = x;
    this.#isHidden = isHidden;
    this.#onChange = onChange;
    this.#timer = x.clock.setInterval(() => {
      if (this.#isPolling) return;
      this.#isPolling = true;
      this.#poll()
        .catch(() => undefined)
        .finally(() => {
          this.#isPolling = false;
        });
    }, POLL_MS);
  }

  get relative(): boolean {
    return this.#relative;
  }

  close(): void {
    this.#timer.cancel();
  }

  async #poll(): Promise<void> {
    if (!this.#isHidden()) {
      this.#set(false);
      return;
    }
    const { client, root } = this.#x;
    const { keyMask } = await this.#x.request<{ keyMask: number }>((callback) =>
      client.QueryPointer(root, callback),
    );
    // A held button is a grab too.
    if (keyMask & ALL_BUTTONS) return;
    const status = await this.#x.request<number>((callback) =>
      client.GrabPointer(root, 1, 0, ASYNCHRONOUS, ASYNCHRONOUS, 0, 0, 0, callback),
    );
    if (status === GRANTED) client.UngrabPointer(0);
    this.#set(status !== GRANTED);
  }

  #set(relative: boolean): void {
    if (relative === this.#relative) return;
    this.#relative = relative;
    this.#onChange(relative);
  }
}
