import { describe, expect, test } from 'vitest';
import { judgeClaim } from './limit-rules.ts';

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
