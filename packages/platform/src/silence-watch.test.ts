import { expect, test, vi } from 'vitest';
import { SilenceWatch } from './silence-watch.ts';
import type { Clock } from './timer.ts';

/**
 * A clock with a single interval, which fires when the test says so. It imitates the late timers of a stopped process.
 */
function handClock() {
  let nowMs = 0;
  let check: () => void = () => undefined;
  const cancel = vi.fn();
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    setTimeout: () => ({ cancel }),
    setInterval: (work) => {
      check = work;
      return { cancel };
    },
  };
  const after = (ms: number) => {
    nowMs += ms;
    check();
  };
  return { clock, after, cancel };
}

test('silence is reported once, after its limit and not before', () => {
  const { clock, after, cancel } = handClock();
  const silent = vi.fn();
  const watch = new SilenceWatch(clock, 1_000, silent);
  for (let look = 0; look < 3; look++) after(250);
  watch.heard();
  for (let look = 0; look < 3; look++) after(250);
  expect(silent).not.toHaveBeenCalled();
  after(250);
  expect(silent).toHaveBeenCalledOnce();
  expect(cancel).toHaveBeenCalledOnce();
});

test('a pause of this process does not count as silence of a peer', () => {
  const { clock, after } = handClock();
  const silent = vi.fn();
  new SilenceWatch(clock, 1_000, silent);
  after(250);
  after(60_000);
  expect(silent).not.toHaveBeenCalled();
  after(250);
  expect(silent).not.toHaveBeenCalled();
  after(250);
  expect(silent).toHaveBeenCalledOnce();
});
