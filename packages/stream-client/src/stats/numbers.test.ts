import { describe, expect, test } from 'vitest';
import { deviation, median, percentile } from './numbers.ts';

describe('numbers', () => {
  test.each([
    [[1, 2, 3, 4], 0.5, 2.5],
    [[4, 1, 3, 2], 0.95, 3.85],
    [[7], 0.95, 7],
    [[], 0.5, null],
  ])('percentile of %j at %d is %d', (values, fraction, expected) => {
    const result = percentile(values, fraction);
    if (expected === null) expect(result).toBeNull();
    else expect(result).toBeCloseTo(expected);
  });

  test('the median is the middle value, and the deviation of an empty list is null', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(deviation([2, 4, 4, 4, 5, 5, 7, 9])).toBe(2);
    expect(deviation([])).toBeNull();
  });
});
