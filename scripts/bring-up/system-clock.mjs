/**
 * The part of a clock that the supervisor uses; tests pass a manual clock.
 * @typedef {object} Clock
 * @property {() => number} monotonicMs milliseconds since an arbitrary time; never decreases
 * @property {(run: () => void, delayMs: number) => {cancel(): void}} setTimeout
 */

/** @type {Clock} */
export const systemClock = {
  monotonicMs: () => performance.now(),
  setTimeout(run, delayMs) {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
