import { describe, expect, test } from 'vitest';
import { bucketWaitMs, judgeClaim, judgeRequest } from './limit-rules.ts';

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

describe('an attempt to claim the instance', () => {
  const limits = { maxRejected: 3, pauseMs: 60_000, inFlightPerAddress: 2, inFlightTotal: 4 };
  const none = { address: 0, total: 0 };
  test.each([
    ['the first: admitted', undefined, none, { next: { count: 1, lastMs: 100_000 } }],
    [
      'after two rejected: admitted',
      { count: 2, lastMs: 99_000 },
      none,
      { next: { count: 3, lastMs: 100_000 } },
    ],
    ['after three: pauses', { count: 3, lastMs: 99_000 }, none, { waitMs: 59_000 }],
    [
      'after the pause: counts from one',
      { count: 3, lastMs: 40_000 },
      none,
      { next: { count: 1, lastMs: 100_000 } },
    ],
    [
      'a long time after two: counts from one',
      { count: 2, lastMs: 0 },
      none,
      { next: { count: 1, lastMs: 100_000 } },
    ],
    ['two of the address in flight: may try soon', undefined, { address: 2, total: 2 }, { waitMs: 1 }],
    ['four of all in flight: may try soon', undefined, { address: 0, total: 4 }, { waitMs: 1 }],
  ])('%s', (_, known, inFlight, verdict) => {
    expect(judgeClaim(limits, known, inFlight, 100_000)).toEqual(verdict);
  });
});
