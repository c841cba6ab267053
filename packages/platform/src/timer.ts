/** Clock and timers without side effects or imports, so that the browser packages can import this module. */

/** A pending timer. cancel() is idempotent, even after the timer has fired. */
export interface Timer {
  cancel(): void;
}

/**
 * A clock with timers. It is passed in, so that tests can control the time. Deadlines and ages within a process or page
 * use `monotonicMs`, because the wall clock may be set; `nowMs` is for times that are stored, sent or shown.
 */
export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  nowMs(): number;
  /** Milliseconds since an arbitrary time of this process or page; never decreases. */
  monotonicMs(): number;
  setTimeout(run: () => void, delayMs: number): Timer;
  setInterval(run: () => void, everyMs: number): Timer;
}

/**
 * Resolves after `ms`, or when the signal aborts; at once if the signal is already aborted. Frees its timer and its
 * listener.
 */
export function pause(clock: Pick<Clock, 'setTimeout'>, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
