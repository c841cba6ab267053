/** A pending timer. Cancelling is idempotent, also after it fired. */
export interface Timer {
  cancel(): void;
}

/**
 * Time, injected so that tests control it. Deadlines and ages within a process use `monotonicMs`, because the wall
 * clock may jump; `nowMs` is for stored, sent or shown times.
 */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  nowMs(): number;
  /** Milliseconds since an arbitrary point of this process; never goes back. */
  monotonicMs(): number;
  setTimeout(run: () => void, delayMs: number): Timer;
  setInterval(run: () => void, everyMs: number): Timer;
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A timer this late means that the process was paused. */
const STOOD_STILL_MS = SECOND_MS;

/**
 * The machine's clock and timers.
 *
 * Node runs due timers before it reads sockets. After a pause of the process (stopped, swapped out, paused virtual
 * machine) every deadline would fire before the frames that arrived in time are read, and every link would close. So
 * a timer that is late by a second runs after one more turn of the event loop, which reads the sockets.
 */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout(run, delayMs) {
    const guarded = afterSocketsWhenLate(run, delayMs);
    const handle = setTimeout(guarded.fire, delayMs);
    return {
      cancel() {
        clearTimeout(handle);
        guarded.cancel();
      },
    };
  },
  setInterval(run, everyMs) {
    const guarded = afterSocketsWhenLate(run, everyMs);
    const handle = setInterval(guarded.fire, everyMs);
    return {
      cancel() {
        clearInterval(handle);
        guarded.cancel();
      },
    };
  },
};

function afterSocketsWhenLate(run: () => void, delayMs: number): { fire(): void; cancel(): void } {
  let dueMs = performance.now() + delayMs;
  let turn: NodeJS.Immediate | null = null;
  return {
    fire() {
      const nowMs = performance.now();
      const stoodStill = nowMs - dueMs >= STOOD_STILL_MS;
      dueMs = nowMs + delayMs;
      if (!stoodStill) run();
      else {
        if (turn !== null) clearImmediate(turn);
        turn = setImmediate(() => {
          turn = null;
          run();
        });
      }
    },
    cancel() {
      if (turn !== null) clearImmediate(turn);
      turn = null;
    },
  };
}

/** Resolves after `delayMs` on the given clock. */
export function delay(clock: Pick<Clock, 'setTimeout'>, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}

/**
 * The promise's value, or `fallback` if it has not settled after `limitMs`. The promise goes on; a rejection after
 * the limit is ignored, one before it is passed on.
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
