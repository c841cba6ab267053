import { expect, test } from 'vitest';
import { UpQueue } from './up-queue.ts';

/** The host's clock is an hour ahead. */
const pong = (client_ms: number, wayMs: number) => ({ client_ms, receive_ms: client_ms + 3_600_000 + wayMs });

test('a ping that takes longer than the fastest one waited in a queue, whatever the clocks show', () => {
  const queue = new UpQueue();
  expect([20, 20, 170, 25].map((wayMs, n) => queue.add(pong(n * 125, wayMs)))).toEqual([0, 0, 150, 5]);
});

test('a queue of half a minute is still reported; after a minute a slower path is normal', () => {
  const queue = new UpQueue();
  queue.add(pong(0, 20));
  expect(queue.add(pong(31_000, 120))).toBe(100);
  expect(queue.add(pong(61_000, 120))).toBe(0);
});

test('another connection starts over', () => {
  const queue = new UpQueue();
  queue.add(pong(0, 20));
  queue.reset();
  expect(queue.add(pong(125, 90))).toBe(0);
});
