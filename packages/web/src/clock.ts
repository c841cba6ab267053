/**
 * The clock of this page. All other files read the time and set timers through it, so that a test can replace the
 * clock.
 */
import type { Clock } from '@footlight/platform/timer';

const browserClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout(work, delayMs) {
    const id = setTimeout(work, delayMs);
    return { cancel: () => clearTimeout(id) };
  },
  setInterval(work, everyMs) {
    const id = setInterval(work, everyMs);
    return { cancel: () => clearInterval(id) };
  },
};

export let clock: Clock = browserClock;

/**
 * Replaces the page's clock.
 * @returns restores the browser's clock
 */
export function runIn(other: Clock): () => void {
  clock = other;
  return () => {
    clock = browserClock;
  };
}
