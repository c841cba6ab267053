import type { Clock, Timer } from '../platform/clock.ts';

interface Pending {
  dueMs: number;
  order: number;
  /** null: once. */
  everyMs: number | null;
  run: () => void;
}

/** Where every test's time begins. */
export const TEST_EPOCH_MS = Date.UTC(2026, 5, 2, 12, 0, 0);

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 1_000;
  #order = 0;
  readonly #pending = new Set<Pending>();

  /** @param nowMs where its wall clock begins; the monotonic one begins anew with each process */
  constructor(nowMs = TEST_EPOCH_MS) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  setTimeout(run: () => void, delayMs: number): Timer {
    return this.#add(run, delayMs, null);
  }

  setInterval(run: () => void, everyMs: number): Timer {
    return this.#add(run, everyMs, everyMs);
  }

  /** Moves both clocks on, running what comes due in its order, and lets what it started go as far as it can. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#monotonicMs + byMs;
    for (let next = this.#next(untilMs); next; next = this.#next(untilMs)) {
      this.#moveTo(next.dueMs);
      if (next.everyMs === null) this.#pending.delete(next);
      else next.dueMs += Math.max(1, next.everyMs);
      next.run();
      await settle();
    }
    this.#moveTo(untilMs);
    await settle();
  }

  /** Moves the wall clock alone, as somebody who sets it. */
  jump(byMs: number): void {
    this.#nowMs += byMs;
  }

  /** Whether something comes due exactly so long from now, so that a test can see a wait begin. */
  isAwaited(delayMs: number): boolean {
    return [...this.#pending].some(({ dueMs }) => dueMs === this.#monotonicMs + delayMs);
  }

  #add(run: () => void, delayMs: number, everyMs: number | null): Timer {
    this.#order += 1;
    const entry: Pending = {
      dueMs: this.#monotonicMs + Math.max(0, delayMs),
      order: this.#order,
      everyMs,
      run,
    };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  #next(untilMs: number): Pending | undefined {
    return [...this.#pending]
      .filter(({ dueMs }) => dueMs <= untilMs)
      .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
  }

  #moveTo(monotonicMs: number): void {
    this.#nowMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}

/** Lets promises and immediates that are ready run. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve));
}
