import type { Clock, Timer } from './clock.ts';

/** A clock that stands still until a test moves it; timers fire in due order inside advance(). */
export class ManualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;
  #next = 0;
  readonly #timers = new Map<number, { dueMs: number; periodMs: number | null; work: () => void }>();

  constructor(nowMs = 1_700_000_000_000) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  setTimeout(work: () => void, delayMs: number): Timer {
    return this.#arm(work, delayMs, null);
  }

  setInterval(work: () => void, periodMs: number): Timer {
    return this.#arm(work, periodMs, periodMs);
  }

  /** Moves both clocks on and runs what became due, oldest first. */
  advance(byMs: number): void {
    const untilMs = this.#monotonicMs + byMs;
    for (;;) {
      const due = [...this.#timers.entries()]
        .filter(([, timer]) => timer.dueMs <= untilMs)
        .sort(([a, x], [b, y]) => x.dueMs - y.dueMs || a - b)[0];
      if (!due) break;
      const [id, timer] = due;
      this.#moveTo(timer.dueMs);
      if (timer.periodMs === null) this.#timers.delete(id);
      else timer.dueMs += timer.periodMs;
      timer.work();
    }
    this.#moveTo(untilMs);
  }

  #moveTo(monotonicMs: number): void {
    const stepMs = Math.max(0, monotonicMs - this.#monotonicMs);
    this.#monotonicMs += stepMs;
    this.#nowMs += stepMs;
  }

  #arm(work: () => void, delayMs: number, periodMs: number | null): Timer {
    const id = this.#next++;
    this.#timers.set(id, { dueMs: this.#monotonicMs + delayMs, periodMs, work });
    return { cancel: () => void this.#timers.delete(id) };
  }
}
