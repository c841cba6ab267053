import { systemClock } from '../clock.ts';
import type { Clock } from '../timer.ts';

/**
 * Real time at `speed` times its rate, for waits of seconds with real sockets and files. The wall clock is unchanged.
 */
export function fastClock(speed: number): Clock {
  return {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs() * speed,
    setTimeout: (run, delayMs) => systemClock.setTimeout(run, delayMs / speed),
    setInterval: (run, everyMs) => systemClock.setInterval(run, everyMs / speed),
  };
}
