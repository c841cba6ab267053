import { describe, expect, test } from 'vitest';
import { firstFrameMs, ingestOf, keptCaptures } from './bundle-parts.ts';

describe('what was dropped for its time', () => {
  test('is left out where nothing was', () => {
    expect(ingestOf([])).toBeUndefined();
  });

  test('is counted over all causes, with the last one', () => {
    expect(
      ingestOf([
        { cause: 'seconds', count: 3, last_ts: 1_750_000_000, last_at: 5 },
        { cause: 'nanoseconds', count: 2, last_ts: 1.75e18, last_at: 7 },
      ]),
    ).toEqual({
      rejected_ts: 5,
      last_rejected_ts_unix_ms: 1.75e18,
      last_rejected_reason: 'nanoseconds',
    });
  });
});

test.each([
  [undefined, null],
  [{}, null],
  [{ since_launch_ms: 'soon' }, null],
  [{ since_launch_ms: 1e300 }, null],
  [{ since_launch_ms: 1_480.4 }, 1_480],
])('the first picture of %j came after %j ms', (payload, ms) => {
  expect(firstFrameMs(payload)).toBe(ms);
});

describe('captures that keep their results', () => {
  const KIB = 1024;
  test.each([
    [[], 1_000, 0],
    [[100 * KIB, 100 * KIB], 300 * KIB, 2],
    [[100 * KIB, 100 * KIB, 100 * KIB], 300 * KIB, 2],
    [[400 * KIB, 1 * KIB], 300 * KIB, 0],
    [[1 * KIB], -5, 0],
  ])('of %j bytes, newest first, in %d: %d', (bytes, room, kept) => {
    expect(keptCaptures(bytes, room)).toBe(kept);
  });
});
