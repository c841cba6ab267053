import { expect, test } from 'vitest';
import { WindowCounter } from './window-counter.ts';

test('a window is full with the last of its events and has room again when the first one left it', () => {
  const counter = new WindowCounter(3, 1_000);
  expect([counter.add(0), counter.add(400), counter.add(800)]).toEqual([false, false, true]);
  expect(counter.isFull(999)).toBe(true);
  expect(counter.roomInMs(900)).toBe(100);
  expect(counter.isFull(1_000)).toBe(false);
  expect(counter.add(1_001)).toBe(true);
});
