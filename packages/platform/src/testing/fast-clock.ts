import { type Clock, systemClock } from '../clock.ts';

/** Real time that runs `speed` times as fast, for waits of seconds beside real sockets and files. The wall clock stays. */
export function fastClock(speed: number): Clock {
  return {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs() * speed,
    setTimeout: (run, delayMs) => systemClock.setTimeout(run, delayMs / speed),
    setInterval: (run, everyMs) => systemClock.setInterval(run, everyMs / speed),
  };
}
