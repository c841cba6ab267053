import type { Clock, Timer } from '@footlight/platform';

/** Longest time between a launcher's last window and the first window of its program. */
export const WINDOWLESS_MS = 30_000;

/**
 * Detects an app that has ended except for its daemons: its first process exited with status 0, the app had drawn, and
 * no window has been shown for WINDOWLESS_MS. Without this, a daemon such as gpg-agent would keep the session alive
 * forever.
 *
 * resting ⇄ waiting (one timer) → reported. Owner: the session's app; close() frees the timer.
 */
export class DaemonWatch {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #facts = { handedOver: false, drawn: false };
  /** Number of shown windows; null: unknown. */
  #windows: number | null = null;
  #timer: Timer | null = null;

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** Updates facts about the running app. When another app starts, both facts must be set. */
  note(facts: Partial<{ handedOver: boolean; drawn: boolean }>): void {
    Object.assign(this.#facts, facts);
    this.#watch();
  }

  set windows(count: number) {
    this.#windows = count;
    this.#watch();
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #watch(): void {
    const isLeft = this.#facts.handedOver && this.#facts.drawn && this.#windows === 0;
    if (!isLeft) this.close();
    else this.#timer ??= this.#clock.setTimeout(this.#onOver, WINDOWLESS_MS);
  }
}
