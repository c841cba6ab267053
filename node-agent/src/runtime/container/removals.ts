import { type Clock, delay, errorText, type Logger } from '@footlight/platform';
import { type ContainerEngine, EngineError } from './engine/engine.ts';

/** Interval between two attempts to remove a container. */
const AGAIN_MS = 1_000;
/**
 * An engine that hangs may execute a creation late, after the removal of the same container. Therefore, if the engine
 * did not answer a creation, the container is removed again until this time has passed. It is the longest hang that
 * tests cause. Chosen, not measured.
 */
const LATE_CREATION_MS = 120_000;

interface LeftContainer {
  /** Monotonic time from which a successful removal is final. null: every successful removal is final. */
  finalFromMs: number | null;
  wasReported: boolean;
}

/**
 * Containers that could not be removed because the engine did not answer. Their removal is repeated until it succeeds.
 */
export class Removals {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #engine: () => Promise<Pick<ContainerEngine, 'remove'>>;
  readonly #left = new Map<string, LeftContainer>();
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(deps: {
    clock: Clock;
    logger: Logger;
    engine: () => Promise<Pick<ContainerEngine, 'remove'>>;
  }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#engine = deps.engine;
  }

  /** @param isUnanswered the engine did not answer the creation, so it may still create the container later */
  add(name: string, isUnanswered = false): void {
    const finalFromMs = isUnanswered ? this.#clock.monotonicMs() + LATE_CREATION_MS : null;
    this.#left.set(name, { finalFromMs, wasReported: false });
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Stops the removals. The next agent process finds the remaining containers by their labels. */
  close(): void {
    this.#closed = true;
  }

  async #run(): Promise<void> {
    while (this.#left.size > 0 && !this.#closed) {
      for (const [name, left] of [...this.#left]) if (!(await this.#tryOne(name, left))) break;
      if (this.#left.size > 0) await delay(this.#clock, AGAIN_MS);
    }
  }

  /** @returns false: the engine did not answer, so this round ends */
  async #tryOne(name: string, left: LeftContainer): Promise<boolean> {
    try {
      await (await this.#engine()).remove(name);
      if (left.finalFromMs !== null && this.#clock.monotonicMs() < left.finalFromMs) return true;
      this.#left.delete(name);
      this.#logger.info({ container: name }, 'container.removed_late');
      return true;
    } catch (error) {
      // Logged only once, because the removal is tried every second.
      if (!left.wasReported)
        this.#logger.warn({ container: name, error: errorText(error) }, 'container.not_removed');
      left.wasReported = true;
      return error instanceof EngineError && error.status !== null;
    }
  }
}
