/** Only types of clock and timers, without side effects, so that the browser packages can import them. */

/** A pending timer. Cancelling is idempotent, also after it fired. */
export interface Timer {
  cancel(): void;
}

/**
 * Time, injected so that tests control it. Deadlines and ages within a process or page use `monotonicMs`, because the
 * wall clock may jump; `nowMs` is for stored, sent or shown times.
 */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  nowMs(): number;
  /** Milliseconds since an arbitrary point of this process or page; never goes back. */
  monotonicMs(): number;
  setTimeout(run: () => void, delayMs: number): Timer;
  setInterval(run: () => void, everyMs: number): Timer;
}
