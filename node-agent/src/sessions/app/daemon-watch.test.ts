import { ManualClock } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import { DaemonWatch, WINDOWLESS_MS } from './daemon-watch.ts';

function world() {
  const clock = new ManualClock();
  let over = 0;
  const rule = new DaemonWatch(clock, () => {
    over += 1;
  });
  return { clock, rule, over: () => over };
}

test.each([
  ['only daemons are left of it', { handedOver: true, drawn: true, windows: 0 }, 1],
  ['its first process lives', { handedOver: false, drawn: true, windows: 0 }, 0],
  ['it has drawn nothing yet', { handedOver: true, drawn: false, windows: 0 }, 0],
  ['a window of it is shown', { handedOver: true, drawn: true, windows: 1 }, 0],
  ['its windows are unknown', { handedOver: true, drawn: true, windows: null }, 0],
])('an app is over after a while without a window: %s', (_what, { windows, ...facts }, times) => {
  const { clock, rule, over } = world();
  rule.note(facts);
  if (windows !== null) rule.windows = windows;
  clock.advance(WINDOWLESS_MS - 1);
  expect(over()).toBe(0);
  clock.advance(1);
  expect(over()).toBe(times);
});

test('a window in between restarts the time', () => {
  const { clock, rule, over } = world();
  rule.note({ handedOver: true, drawn: true });
  rule.windows = 0;
  clock.advance(WINDOWLESS_MS - 1);
  rule.windows = 1;
  rule.windows = 0;
  clock.advance(WINDOWLESS_MS - 1);
  expect(over()).toBe(0);
  clock.advance(1);
  expect(over()).toBe(1);
});

test('another app restarts the time, and an ended session gets no report', () => {
  const { clock, rule, over } = world();
  rule.note({ handedOver: true, drawn: true });
  rule.windows = 0;
  rule.note({ handedOver: false });
  clock.advance(2 * WINDOWLESS_MS);
  rule.note({ handedOver: true });
  rule.close();
  clock.advance(2 * WINDOWLESS_MS);
  expect(over()).toBe(0);
});
