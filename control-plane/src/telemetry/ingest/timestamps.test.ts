import { DAY_MS } from '@footlight/platform';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeTime, REJECTED_TIMES } from './timestamps.ts';

const NOW = Date.parse('2026-11-20T10:00:00.000Z');

describe('the time of an item', () => {
  test.each<[string, number, ReturnType<typeof judgeTime>]>([
    ['now', NOW, null],
    ['24 h ago', NOW - DAY_MS, null],
    ['in 24 h', NOW + DAY_MS, null],
    ['24 h and 1 ms ago', NOW - DAY_MS - 1, 'out_of_range'],
    ['in 24 h and 1 ms', NOW + DAY_MS + 1, 'out_of_range'],
    ['zero', 0, 'zero_or_negative'],
    ['minus one', -1, 'zero_or_negative'],
    ['minus now', -NOW, 'zero_or_negative'],
    ['the smallest integer', -Number.MAX_VALUE, 'zero_or_negative'],
    ['seconds', Math.floor(NOW / 1_000), 'seconds'],
    ['seconds of a clock that is two days late', Math.floor(NOW / 1_000) - 2 * 86_400, 'seconds'],
    ['microseconds', NOW * 1_000, 'microseconds'],
    ['nanoseconds, above the safe integers', NOW * 1_000_000, 'nanoseconds'],
    ['the age of a page', 83_542, 'performance_now'],
    ['one millisecond', 1, 'performance_now'],
    ['the age of a page that is open for a week', 7 * DAY_MS, 'performance_now'],
    ['1980', Date.parse('1980-01-01T00:00:00Z'), 'out_of_range'],
    ['the largest number', Number.MAX_VALUE, 'out_of_range'],
  ])('%s', (_, ts, cause) => {
    expect(judgeTime(ts, NOW)).toBe(cause);
  });

  test('is taken exactly up to 24 h from the clock of the server, at any time', () => {
    const anyInteger = fc.oneof(
      fc.maxSafeInteger(),
      fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }).map((distance) => NOW + distance),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(Math.trunc),
    );
    fc.assert(
      fc.property(anyInteger, fc.integer({ min: NOW - 3 * 365 * DAY_MS, max: NOW }), (ts, nowMs) => {
        const cause = judgeTime(ts, nowMs);
        if (Math.abs(ts - nowMs) <= DAY_MS) expect(cause).toBeNull();
        else expect(REJECTED_TIMES).toContain(cause);
      }),
    );
  });
});
