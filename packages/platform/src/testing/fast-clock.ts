import { systemClock } from '../clock.ts';
import type { Clock } from '../timer.ts';

/**
 * A clock on which time passes `speed` times faster, for tests that wait some seconds and use real sockets and files.
 * The wall clock is unchanged.
 */
export function fastClock(speed: number): Clock {
  return {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs() * speed,
    setTimeout: (run, delayMs) => systemClock.setTimeout(run, delayMs / speed),
    setInterval: (run, everyMs) => systemClock.setInterval(run, everyMs / speed),
  };
}
