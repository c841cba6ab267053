import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { GraceClock } from './grace-clock.ts';

describe('the clock for the grace of homes', () => {
  let clock: ManualClock;
  let grace: GraceClock;
  beforeEach(() => {
    clock = new ManualClock();
    grace = new GraceClock(clock);
  });
  /** Difference between the wall clock and the grace clock. */
  const behind = () => clock.nowMs() - grace.nowMs();

  test('is the wall clock, also while that is corrected', () => {
    for (let count = 0; count < 100; count++) {
      clock.advance(HOUR_MS);
      clock.jump(count % 3 === 0 ? -SECOND_MS : 30 * SECOND_MS);
      expect(behind()).toBe(0);
    }
  });

  test.each([2 * HOUR_MS, 3 * DAY_MS, 366 * DAY_MS])('does not leap with a clock set %s ms ahead', (by) => {
    clock.jump(by);
    expect(behind()).toBe(by);
    clock.advance(DAY_MS - 1);
    // Like a small correction of a clock that is ahead.
    clock.jump(-SECOND_MS);
    expect(behind()).toBe(by - SECOND_MS);
    clock.advance(1);
    expect(behind()).toBe(0);
    clock.jump(SECOND_MS);
    expect(behind()).toBe(0);
  });

  test('follows a clock that is set back at once, and trusts nothing that it showed before', () => {
    clock.jump(3 * DAY_MS);
    expect(behind()).toBe(3 * DAY_MS);
    clock.advance(HOUR_MS);
    clock.jump(-3 * DAY_MS);
    expect(behind()).toBe(0);
    clock.jump(-2 * HOUR_MS);
    expect(behind()).toBe(0);
    clock.advance(DAY_MS);
    clock.jump(3 * DAY_MS);
    expect(behind()).toBe(3 * DAY_MS);
  });

  test('waits a day for each leap of a machine that sleeps every night', () => {
    for (let night = 1; night <= 30; night++) {
      clock.jump(8 * HOUR_MS);
      expect(behind()).toBeLessThanOrEqual(16 * HOUR_MS);
      expect(behind()).toBeGreaterThanOrEqual(8 * HOUR_MS);
      clock.advance(16 * HOUR_MS);
      expect(behind()).toBeGreaterThan(5 * MINUTE_MS);
    }
  });
});
