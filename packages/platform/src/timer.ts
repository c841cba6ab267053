/** Contains only types of clock and timers and has no side effects, so that the browser packages can import it. */

/** A pending timer. cancel() is idempotent, also after the timer has fired. */
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
