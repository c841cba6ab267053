import type { Clock, Random, Timer } from '@footlight/platform';

/** Part of the interval by which a poll comes earlier or later, so that the polls of a fleet spread. */
const JITTER = 0.1;

/**
 * Asks again and again, one call at a time; a failed call waits for the next turn.
 *
 * Teardown: `stop` cancels the next call and waits for the one under way.
 */
export class Poll {
  readonly #options: {
    everyMs: number;
    clock: Pick<Clock, 'setTimeout'>;
    random: Pick<Random, 'number'>;
    /** Never rejects. */
    poll: () => Promise<void>;
  };
  #timer: Timer | null = null;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: {
    everyMs: number;
    clock: Pick<Clock, 'setTimeout'>;
    random: Pick<Random, 'number'>;
    poll: () => Promise<void>;
  }) {
    this.#options = options;
  }

  /** @param withinMs the first call comes at a random time within it */
  start(withinMs: number): void {
    this.#callIn(withinMs * this.#options.random.number());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #callIn(delayMs: number): void {
    if (this.#isStopped) return;
    const { clock, everyMs, poll, random } = this.#options;
    this.#timer = clock.setTimeout(() => {
      this.#callIn(everyMs * (1 - JITTER + 2 * JITTER * random.number()));
      this.#running = this.#running.then(poll);
    }, delayMs);
  }
}
