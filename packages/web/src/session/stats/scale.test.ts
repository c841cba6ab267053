import { describe, expect, test } from 'vitest';
import { pathOf, scaleOf } from './scale.ts';

describe('a scale', () => {
  test.each([
    [60, [0, 20, 40, 60]],
    [61, [0, 50, 100]],
    [29.97, [0, 10, 20, 30]],
    [144, [0, 50, 100, 150]],
    [1, [0, 0.5, 1]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [3_600, [0, 2_000, 4_000]],
    [0, [0, 0.5, 1]],
    [Number.NaN, [0, 0.5, 1]],
  ])('up to %d is marked at %j', (most, marks) => {
    expect(scaleOf(most)).toEqual(marks);
  });

  test('always reaches the largest value, with at most four lines', () => {
    for (let most = 0.01; most < 100_000; most *= 1.37) {
      const marks = scaleOf(most);
      expect(marks.at(-1)).toBeGreaterThanOrEqual(most);
      expect(marks.length).toBeLessThanOrEqual(4);
    }
  });
});

describe('a line', () => {
  const graph = { width: 100, height: 10, slots: 11, top: 10 };
  test('ends at the right edge, and is interrupted where nothing was measured', () => {
    expect(pathOf([0, 10], graph)).toBe('M90.0 10.0L100.0 0.0');
    expect(pathOf([5, undefined, 5], graph)).toBe('M80.0 5.0M100.0 5.0');
  });
  test('stays inside the graph', () => {
    expect(pathOf([20, -1], graph)).toBe('M90.0 0.0L100.0 10.0');
  });
});
