/** A timer that was armed; cancel() of one that fired does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Time as the agent sees it, injected so that tests decide when it passes.
 *
 * nowMs is the wall clock (epoch milliseconds) and goes into messages; monotonicMs has no meaning but its
 * differences and decides every deadline, because the wall clock of a host may jump.
 */
export interface Clock {
  nowMs(): number;
  monotonicMs(): number;
  setTimeout(work: () => void, delayMs: number): Timer;
  setInterval(work: () => void, periodMs: number): Timer;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout(work, delayMs) {
    const handle = setTimeout(work, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  setInterval(work, periodMs) {
    const handle = setInterval(work, periodMs);
    return { cancel: () => clearInterval(handle) };
  },
};

/** Resolves after delayMs of the given clock. */
export function delay(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}

/**
 * The promise's value, or `fallback` when it has not settled after limitMs. The promise itself goes on; its
 * late rejection is swallowed, an early one is passed on.
 */
export function within<T, F>(
  clock: Clock,
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
