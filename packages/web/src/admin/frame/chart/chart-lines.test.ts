import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { alignedData, axisEnd, axisSteps, type ChartLine, lonePoints, unitLabels } from './chart-lines.ts';

const line = (gap: number, ...points: (readonly [number, number])[]): ChartLine => ({
  gap,
  points: points.map(([x, y]) => ({ x, y })),
});

describe('lines as columns', () => {
  test('a distance longer than the gap interrupts a line', () => {
    expect(alignedData([line(5, [10, 1], [15, 2], [40, 3])])).toEqual([
      [10, 15, 27.5, 40],
      [1, 2, null, 3],
    ]);
  });

  test('a point of another line does not interrupt a line', () => {
    expect(alignedData([line(10, [0, 1], [10, 2]), line(10, [5, 7])])).toEqual([
      [0, 5, 10],
      [1, undefined, 2],
      [undefined, 7, undefined],
    ]);
  });

  test('points of another line in a gap belong to the gap', () => {
    const [, ys] = alignedData([line(5, [0, 1], [30, 2]), line(50, [3, 7], [20, 7])]);
    expect(ys).toEqual([1, null, null, null, 2]);
  });

  test('no lines are no data', () => {
    expect(alignedData([])).toEqual([[]]);
  });

  test('every point is kept, in ascending order', () => {
    const points = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 1e6 }), fc.nat()), {
      selector: ([x]) => x,
      minLength: 1,
    });
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 1e6 }), (unsorted, gap) => {
        const sorted = unsorted.toSorted(([a], [b]) => a - b);
        const [xs, ys] = alignedData([line(gap, ...sorted)]);
        const kept = Array.from(xs).flatMap((x, n) => (ys?.[n] == null ? [] : [[x, ys[n]]]));
        expect(kept).toEqual(sorted);
        expect(Array.from(xs)).toEqual(Array.from(xs).toSorted((a, b) => a - b));
      }),
    );
  });
});

test.each([
  [[], []],
  [[1], [0]],
  [[1, 2], []],
  [[1, undefined, 2], []],
  [
    [1, null, 2, 3, null, undefined, 4],
    [0, 6],
  ],
])('of %j the values without a neighbour are %j', (ys, expected) => {
  expect(lonePoints(ys)).toEqual(expected);
});

test('labels are 1, 2 or 5 times a power of ten apart', () => {
  expect(axisSteps(0.1).slice(0, 7)).toEqual([0.1, 0.2, 0.5, 1, 2, 5, 10]);
  expect(axisSteps(1024).slice(0, 3)).toEqual([1024, 2048, 5120]);
});

test.each([
  [{ top: 100 }, null, 100],
  [{ top: 100 }, 100, 100],
  [{}, 0.2, 1],
  [{}, 60, 66],
  [{ limit: 20 }, 10, 22],
  [{ limit: 20 }, 30, 33],
])('an axis of %j with a largest value of %j ends at %d', (chart, largest, end) => {
  expect(axisEnd(chart, largest)).toBeCloseTo(end);
});

test('the highest label of an axis has the unit', () => {
  expect(unitLabels([0, 2_048, 4_096], 'GB', 1_024)).toEqual(['0', '2', '4 GB']);
  expect(unitLabels([0, 0.5, 1], 'ms', 1)).toEqual(['0', '0.5', '1 ms']);
  expect(unitLabels([0, 1], '', 1)).toEqual(['0', '1']);
});
