import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

test('a burst is allowed at once, then events at the rate', () => {
  const bucket = new TokenBucket(10, 3, 0);
  const taken = (nowMs: number) => Array.from({ length: 5 }, () => bucket.take(nowMs)).filter(Boolean).length;
  expect(taken(0)).toBe(3);
  expect(taken(99)).toBe(0);
  expect(taken(100)).toBe(1);
  expect(taken(60_000)).toBe(3);
});

test('a debt delays later events, by at most the time of a burst', () => {
  const bucket = new TokenBucket(10, 3, 0);
  for (let count = 0; count < 5; count++) bucket.overdraw(0);
  expect(bucket.take(200)).toBe(false);
  expect(bucket.take(300)).toBe(true);
  for (let count = 0; count < 100; count++) bucket.overdraw(300);
  expect(bucket.take(300 + 401)).toBe(true);
});
