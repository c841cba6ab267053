import type { Clock, Timer } from '@footlight/platform';

/** A launcher may take this long between its last window and the first one of the program that it starts. */
export const WINDOWLESS_MS = 30_000;

/**
 * Tells when of an app nothing is left but daemons: its first process has ended with status 0, it had drawn, and none
 * of its windows has been shown for a while. What it left behind, such as gpg-agent, would keep its session for ever.
 */
export class LeftBehind {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #facts = { handedOver: false, drawn: false };
  /** Windows that are shown (count); null: nothing is known of any. */
  #windows: number | null = null;
  #timer: Timer | null = null;

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** Adds facts of the app that runs now; the start of another app sets both. */
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
