import type { Clock, Timer } from '@footlight/platform';
import type { ConsoleCapabilities } from '@footlight/protocol/agent';
import type { Displays } from './displays.ts';

const LOOK_MS = 2_000;

/**
 * Notices that a display or a device was plugged in or out. Looking costs a few small files, and needs neither a
 * listener of kernel events nor the right to have one.
 *
 * Owner of one timer, from the first `read` to `close`.
 */
export class DisplayWatch {
  readonly #displays: Displays;
  readonly #timer: Timer;
  #last: ConsoleCapabilities | null = null;
  #looking = false;

  /** @param changed called after each look that found something else than the last report said */
  constructor(deps: { displays: Displays; clock: Clock; changed: () => void }) {
    this.#displays = deps.displays;
    this.#timer = deps.clock.setInterval(() => void this.#look(deps.changed), LOOK_MS);
  }

  /** For a report: what is there now. */
  async read(): Promise<ConsoleCapabilities> {
    this.#last = await this.#displays.read();
    return this.#last;
  }

  close(): void {
    this.#timer.cancel();
  }

  async #look(changed: () => void): Promise<void> {
    if (this.#last === null || this.#looking) return;
    this.#looking = true;
    try {
      const now = await this.#displays.read();
      if (JSON.stringify(now) !== JSON.stringify(this.#last)) changed();
    } catch {
      // What cannot be read now is looked at again in a moment.
    } finally {
      this.#looking = false;
    }
  }
}
