import type { Clock, Timer } from '../clock.ts';

interface Pending {
  dueMs: number;
  order: number;
  /** null: once. */
  everyMs: number | null;
  run: () => void;
}

/** Wall clock at the start of a test. */
export const TEST_EPOCH_MS = Date.UTC(2026, 5, 2, 12, 0, 0);

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 1_000;
  #order = 0;
  readonly #pending = new Set<Pending>();

  /** @param nowMs start of its wall clock; the monotonic clock starts again with each process */
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

  /** Moves both clocks and runs due timers in their order, all within this call. */
  advance(byMs: number): void {
    const untilMs = this.#monotonicMs + byMs;
    while (this.#runNext(untilMs));
    this.#moveTo(untilMs);
  }

  /** Moves both clocks and runs due timers in their order; before the next timer, promises that one settled run. */
  async pass(byMs: number): Promise<void> {
    const untilMs = this.#monotonicMs + byMs;
    while (this.#runNext(untilMs)) await settle();
    this.#moveTo(untilMs);
    await settle();
  }

  /** Moves the wall clock alone, as an administrator who sets it. */
  jump(byMs: number): void {
    this.#nowMs += byMs;
  }

  /** Whether a timer is due in exactly `delayMs`, so that a test can see the start of a wait. */
  isAwaited(delayMs: number): boolean {
    return [...this.#pending].some(({ dueMs }) => dueMs === this.#monotonicMs + delayMs);
  }

  /** Timers that are armed (count). */
  get pendingTimers(): number {
    return this.#pending.size;
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

  #runNext(untilMs: number): boolean {
    const next = [...this.#pending]
      .filter(({ dueMs }) => dueMs <= untilMs)
      .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
    if (next === undefined) return false;
    this.#moveTo(next.dueMs);
    if (next.everyMs === null) this.#pending.delete(next);
    else next.dueMs += Math.max(1, next.everyMs);
    next.run();
    return true;
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
