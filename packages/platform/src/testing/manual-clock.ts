import type { Clock, Timer } from '../timer.ts';

interface Pending {
  dueMs: number;
  order: number;
  /** Interval of the timer; null: the timer fires only once. */
  everyMs: number | null;
  run: () => void;
}

/** Default time of the wall clock at the start of a test. */
export const TEST_EPOCH_MS = Date.UTC(2026, 5, 2, 12, 0, 0);

/** A clock that advances only when a test advances it. */
export class ManualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 1_000;
  #order = 0;
  readonly #pending = new Set<Pending>();

  /** @param nowMs initial time of the wall clock; the monotonic clock always starts at the same value */
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

  /** Advances both clocks and runs due timers in order, synchronously. */
  advance(byMs: number): void {
    const untilMs = this.#monotonicMs + byMs;
    while (this.#runNext(untilMs));
    this.#moveTo(untilMs);
  }

  /** Advances both clocks and runs due timers in order. Between two timers, callbacks of settled promises run. */
  async pass(byMs: number): Promise<void> {
    const untilMs = this.#monotonicMs + byMs;
    while (this.#runNext(untilMs)) await settle();
    this.#moveTo(untilMs);
    await settle();
  }

  /** Changes only the wall clock, like an administrator who sets the time. */
  jump(byMs: number): void {
    this.#nowMs += byMs;
  }

  /** Whether a timer is due in exactly `delayMs`, so that a test can detect that a wait has begun. */
  isAwaited(delayMs: number): boolean {
    return [...this.#pending].some(({ dueMs }) => dueMs === this.#monotonicMs + delayMs);
  }

  /** Number of pending timers. */
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

/**
 * Number of event loop turns after a timer has fired. In one turn, a whole chain of promises and one immediate can run.
 */
const TURNS = 5;

/**
 * Runs ready promises and immediates. It does not wait for work outside of this thread: files, sockets, child
 * processes, native threads. After such work, a test must await the work's result.
 */
async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
