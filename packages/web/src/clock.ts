/**
 * The time of this page. Every other file reads the time and sets its timers here, so that a test can put a clock of
 * its own in its place.
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

/** Lets the page run in another time. @returns gives the browser's clock back */
export function runIn(other: Clock): () => void {
  clock = other;
  return () => {
    clock = browserClock;
  };
}
