/** A pending timer. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Time, injected so that tests move it by hand.
 * Deadlines and ages inside one process are measured on `monotonicMs`, which never jumps; `nowMs` is for what is
 * stored or shown.
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

/** A timer this late says that the process stood still, not that somebody else was slow. */
const STOOD_STILL_MS = SECOND_MS;

/**
 * The machine's own clock and timers.
 *
 * Node runs timers that are due before it reads sockets. After the process stood still (stopped, swapped out, a long
 * computation) every deadline would be judged before the frames that came in time were read, and all links would be
 * closed for a silence that never was. A timer that is late by a second therefore runs after one more turn of reading.
 */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout(run, delayMs) {
    const patient = runPatiently(run, delayMs);
    const handle = setTimeout(patient.fire, delayMs);
    return {
      cancel() {
        clearTimeout(handle);
        patient.cancel();
      },
    };
  },
  setInterval(run, everyMs) {
    const patient = runPatiently(run, everyMs);
    const handle = setInterval(patient.fire, everyMs);
    return {
      cancel() {
        clearInterval(handle);
        patient.cancel();
      },
    };
  },
};

function runPatiently(run: () => void, delayMs: number): { fire(): void; cancel(): void } {
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
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}
