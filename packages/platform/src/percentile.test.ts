import { expect, test } from 'vitest';
import { percentile } from './percentile.ts';

test('percentiles interpolate between raw values', () => {
  expect(percentile([], 0.5)).toBeNull();
  expect(percentile([4], 0.95)).toBe(4);
  expect(percentile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(percentile([0, 10], 0.95)).toBeCloseTo(9.5);
});
