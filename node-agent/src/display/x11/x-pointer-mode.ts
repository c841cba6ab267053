import type { Timer } from '@footlight/platform';
import type { XConnection } from './x-connection.ts';

/**
 * Interval at which a grab is tried. A try costs one request, and a person who starts to aim does not notice a delay of
 * a quarter of a second.
 */
const POLL_MS = 250;
const GRANTED = 0;
const ASYNCHRONOUS = 1;
const ALL_BUTTONS = 0x1f00;

/**
 * Reports when an app captures the pointer. Games do this by hiding and grabbing the pointer. X does not report grabs,
 * so while the pointer is hidden and no button is down, this class tries to grab the pointer, and releases it at once.
 *
 * absolute ⇄ relative, checked every POLL_MS. Owner: the desktop of the session. close() frees the timer.
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
    // While a button is down, the server grabs the pointer for a window, so a try would prove nothing.
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
