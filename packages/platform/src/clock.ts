import type { Clock, Timer } from './timer.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A timer that is late by this much means that the process was paused. */
const STOOD_STILL_MS = SECOND_MS;
/** Longest time of Node's timers, 25 days; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * The machine's clock and timers.
 *
 * Node runs due timers before it reads sockets. After a pause of the process (stopped, swapped out, paused virtual
 * machine), every deadline would therefore fire before the frames that arrived in time are read, and every connection
 * would close. So if a timer is late by a second, it runs only after one more turn of the event loop, which reads the
 * sockets.
 */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout(run, delayMs) {
    const timer = new GuardedTimer(run, Math.min(delayMs, LONGEST_MS));
    timer.handle = setTimeout(fire, timer.delayMs, timer);
    return timer;
  },
  setInterval(run, everyMs) {
    const timer = new GuardedTimer(run, Math.min(everyMs, LONGEST_MS));
    timer.handle = setInterval(fire, timer.delayMs, timer);
    return timer;
  },
};

/** One object per timer and no closure, because a media worker starts a few hundred timers per second. */
class GuardedTimer implements Timer {
  handle: NodeJS.Timeout | null = null;
  readonly delayMs: number;
  readonly #run: () => void;
  #dueMs: number;
  #turn: NodeJS.Immediate | null = null;

  constructor(run: () => void, delayMs: number) {
    this.#run = run;
    this.delayMs = delayMs;
    this.#dueMs = performance.now() + delayMs;
  }

  fire(): void {
    const nowMs = performance.now();
    const stoodStill = nowMs - this.#dueMs >= STOOD_STILL_MS;
    this.#dueMs = nowMs + this.delayMs;
    if (!stoodStill) {
      this.#run();
      return;
    }
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = setImmediate(() => {
      this.#turn = null;
      this.#run();
    });
  }

  cancel(): void {
    if (this.handle !== null) clearTimeout(this.handle);
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
  }
}

function fire(timer: GuardedTimer): void {
  timer.fire();
}

/** Resolves after `delayMs` on the given clock. */
export function delay(clock: Pick<Clock, 'setTimeout'>, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}

/**
 * The promise's value, or `fallback` if it has not settled after `limitMs`. The promise itself is not cancelled. If the
 * promise rejects before the limit, within() rejects too; a later rejection is ignored.
 */
export function within<T, F>(
  clock: Pick<Clock, 'setTimeout'>,
  limitMs: number,
  promise: Promise<T>,
  fallback: F,
): Promise<T | F> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => resolve(fallback), limitMs);
    promise.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
