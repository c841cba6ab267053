import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimate } from './estimators.ts';

describe('one value from the points of a series', () => {
  test.each([
    ['p10', [], null],
    ['p10', [7], 7],
    ['p10', [30, 10, 20], 12],
    ['p95', [], null],
    ['p95', [7], 7],
    ['p95', [20, 0, 10], 19],
    ['max', [], null],
    ['max', [-3, -1, -2], -1],
    ['mean', [], null],
    ['mean', [1, 2, 6], 3],
    ['any', [], null],
    ['any', [0, 0], 0],
    ['any', [0, 1], 1],
    ['any', [0, 0.5], 1],
    ['delta', [], null],
    ['delta', [9], null],
    ['delta', [9, 9], 0],
    ['delta', [9, 12, 15], 6],
    ['delta', [9, 12, 0, 2], 5],
  ] as const)('%s of %j is %j', (estimator, values, expected) => {
    expect(estimate(estimator, values)).toEqual(expected);
  });

  test.each([
    [[], null],
    [[17.99], 0],
    [[18, 17.99, 18.01], 2],
  ] as const)('points of %j at or over 18: %j', (values, expected) => {
    expect(estimate('count_ge_threshold', values, 18)).toEqual(expected);
  });
});

const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 40 });

test('percentiles lie between the smallest and the largest value, in this order', () => {
  fc.assert(
    fc.property(values, (list) => {
      const [p10, p95] = [estimate('p10', list) ?? Number.NaN, estimate('p95', list) ?? Number.NaN];
      expect(p10).toBeGreaterThanOrEqual(Math.min(...list));
      expect(p95).toBeGreaterThanOrEqual(p10);
      expect(p95).toBeLessThanOrEqual(Math.max(...list));
    }),
  );
});

test('the sum of the steps of a counter that never falls is its last value less its first', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1e6), { minLength: 2, maxLength: 40 }), (list) => {
      const rising = list.sort((a, b) => a - b);
      expect(estimate('delta', rising)).toBe((rising.at(-1) ?? 0) - (rising[0] ?? 0));
    }),
  );
});
