import { describe, expect, test } from 'vitest';
import { bucketWaitMs, judgeRequest } from './bucket-rules.ts';

describe('a bucket of two requests that refills one a second', () => {
  const shape = { capacity: 2, refillEveryMs: 1_000 };
  test.each<[string, number | undefined, number, object]>([
    ['full: passes', undefined, 5_000, { next: 6_000 }],
    ['half full: passes', 6_000, 5_000, { next: 7_000 }],
    ['empty: waits for one', 7_000, 5_000, { waitMs: 1_000 }],
    ['empty for a while: waits for the rest', 7_000, 5_999, { waitMs: 1 }],
    ['refilled by one: passes', 7_000, 6_000, { next: 8_000 }],
    ['full for long: holds no more than its capacity', 1_000, 9_000, { next: 10_000 }],
  ])('%s', (_, fullAtMs, nowMs, verdict) => {
    expect(judgeRequest(shape, fullAtMs, nowMs)).toEqual(verdict);
  });
  test('the wait of a full bucket is negative by the requests that it still holds', () => {
    expect(bucketWaitMs(shape, 0, 5_000)).toBe(-1_000);
  });
});
