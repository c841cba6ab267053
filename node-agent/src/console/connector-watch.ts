import type { Clock, Timer } from '@footlight/platform';
import type { ConsoleCapabilities } from '@footlight/protocol/agent';
import type { Displays } from './displays.ts';

/**
 * A display that is plugged in shows its first picture only after a few seconds, so a delay of 2 s is not noticed. A
 * poll is cheap: it reads a few files of sysfs.
 */
const READ_PERIOD_MS = 2_000;

/**
 * Detects plugged and unplugged displays and devices by polling a few small files, which needs neither kernel events
 * nor privileges.
 *
 * Owns one timer, from the first `read` to `close`.
 */
export class ConnectorWatch {
  readonly #displays: Displays;
  readonly #timer: Timer;
  #last: ConsoleCapabilities | null = null;
  #isReading = false;

  /** @param changed called after each poll whose result differs from the last `read` */
  constructor(deps: { displays: Displays; clock: Clock; changed: () => void }) {
    this.#displays = deps.displays;
    this.#timer = deps.clock.setInterval(() => void this.#read(deps.changed), READ_PERIOD_MS);
  }

  /** Reads the current state for a report. */
  async read(): Promise<ConsoleCapabilities> {
    this.#last = await this.#displays.read();
    return this.#last;
  }

  close(): void {
    this.#timer.cancel();
  }

  async #read(changed: () => void): Promise<void> {
    if (this.#last === null || this.#isReading) return;
    this.#isReading = true;
    try {
      const now = await this.#displays.read();
      if (JSON.stringify(now) !== JSON.stringify(this.#last)) changed();
    } catch {
      // A file could not be read. The next poll reads all files again.
    } finally {
      this.#isReading = false;
    }
  }
}
