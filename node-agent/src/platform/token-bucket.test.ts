import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

test('a burst goes through at once, then as many a second as it lets', () => {
  let nowMs = 0;
  const bucket = new TokenBucket(() => nowMs, 10, 3);
  const taken = () => Array.from({ length: 5 }, () => bucket.take()).filter(Boolean).length;
  expect(taken()).toBe(3);
  nowMs = 100;
  expect(taken()).toBe(1);
  nowMs = 60_000;
  expect(taken()).toBe(3);
});

test('what cannot wait is taken from those who can', () => {
  let nowMs = 0;
  const bucket = new TokenBucket(() => nowMs, 10, 3);
  for (let count = 0; count < 5; count++) bucket.overdraw();
  nowMs = 200;
  expect(bucket.take()).toBe(false);
  nowMs = 300;
  expect(bucket.take()).toBe(true);
  for (let count = 0; count < 100; count++) bucket.overdraw();
  nowMs = 300 + 401;
  expect(bucket.take()).toBe(true);
});
