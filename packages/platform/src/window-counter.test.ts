import { expect, test } from 'vitest';
import { WindowCounter } from './window-counter.ts';

test('a window is full at its limit, and has space again when the first event has left it', () => {
  const counter = new WindowCounter(3, 1_000);
  expect([counter.add(0), counter.add(400), counter.add(800)]).toEqual([false, false, true]);
  expect(counter.isFull(999)).toBe(true);
  expect(counter.roomInMs(900)).toBe(100);
  expect(counter.isFull(1_000)).toBe(false);
  expect(counter.add(1_001)).toBe(true);
});

test('twenty events within a minute fill their window; spread out they do not', () => {
  const counter = new WindowCounter(20, 60_000);
  const burst = Array.from({ length: 20 }, () => counter.add(0));
  expect(burst.indexOf(true)).toBe(19);
  const slow = new WindowCounter(20, 60_000);
  expect(Array.from({ length: 60 }, (_, n) => slow.add(n * 4_000))).not.toContain(true);
});

test('a full window accepts nothing, and refused events are not counted', () => {
  const counter = new WindowCounter(2, 1_000);
  expect([counter.take(0), counter.take(600), counter.take(900), counter.take(1_000)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
});
