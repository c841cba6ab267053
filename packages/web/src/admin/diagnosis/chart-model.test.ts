import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Line, newestMs, pathOf, pointsOf, tableOf, topOf, trueSpans, valueAt } from './chart-model.ts';

const SPAN = { from_ms: 0, to_ms: 100_000 };
const SIZE = { width: 100, height: 10 };
const HOST: Line = { name: 'encoder.fps', label: 'encoder' };
const VIEWER: Line = { name: 'client.fps', label: 'viewer' };
const CLICKS: Line = { name: 'client.click_to_photon_ms', label: 'viewer', dots: true };
const LOST: Line = { name: 'transport.packets_lost', label: 'network', counts: true };
const at = (...points: (readonly [seconds: number, v: number])[]) =>
  points.map(([seconds, v]) => ({ ts_unix_ms: seconds * 1_000, v }));

describe('a line', () => {
  test('joins its samples, and is interrupted at a gap', () => {
    const points = at([10, 5], [15, 10], [40, 10]);
    expect(pathOf(HOST, points, SPAN, 10, SIZE)).toBe('M10.0 5.0h0L15.0 0.0M40.0 0.0h0');
    expect(pathOf(VIEWER, points, SPAN, 10, SIZE)).toBe('M10.0 5.0h0M15.0 0.0h0M40.0 0.0h0');
  });

  test('of click values consists of dots', () => {
    expect(pathOf(CLICKS, at([1, 5], [2, 5]), SPAN, 10, SIZE)).toBe('M1.0 5.0h0M2.0 5.0h0');
  });

  test('stays within its chart', () => {
    expect(pathOf(HOST, at([-1, -4], [200, 20]), SPAN, 10, SIZE)).toBe('M0.0 10.0h0M100.0 0.0h0');
  });
});

test('a counter is shown as its increases; a restart is not an increase', () => {
  expect(pointsOf(LOST, { [LOST.name]: at([1, 90], [2, 93], [3, 0], [4, 2]) })).toEqual(
    at([2, 3], [3, 0], [4, 2]),
  );
});

test('bit rates are in Mbit/s', () => {
  const rate: Line = { name: 'abr.setpoint_kbps', label: 'target' };
  expect(pointsOf(rate, { [rate.name]: at([1, 8_500]) })).toEqual(at([1, 8.5]));
});

test.each([
  [[], 1],
  [[0], 1],
  [[60, 50], 60],
  [[61], 80],
  [[20], 20],
  [[21], 25],
  [[0.3], 0.3],
  [[1001], 1200],
  [[Number.NaN, Number.POSITIVE_INFINITY, 4], 4],
])('the axis of %j ends at %d', (values, top) => {
  expect(topOf(values)).toBe(top);
});

test('no value is above the axis', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1e-3, max: 1e9, noNaN: true }), { minLength: 1 }), (values) => {
      const top = topOf(values);
      expect(Math.max(...values)).toBeLessThanOrEqual(top * (1 + 1e-9));
    }),
  );
});

test.each([
  [10, 1],
  [12, 1],
  [13, 2],
  [17, 2],
  [60, undefined],
])('at %d s the value is %d', (seconds, v) => {
  expect(valueAt(HOST, at([10, 1], [15, 2]), seconds * 1_000)).toBe(v);
});

test.each([
  ['both: the older one', at([60, 60], [99, 60]), at([96, 60]), 96_000],
  ['a viewer that has left', at([99, 60]), at([20, 60]), 100_000],
  ['a host alone', at([99, 60]), [], 100_000],
  ['nothing', [], [], 100_000],
])('the newest values of %s', (_what, host, viewer, ms) => {
  expect(newestMs({ [HOST.name]: host, [VIEWER.name]: viewer }, SPAN)).toBe(ms);
});

test('the time in which the page was hidden', () => {
  expect(trueSpans(at([1, 0], [2, 1], [3, 1], [4, 0], [5, 1], [20, 1]))).toEqual([
    { from_ms: 2_000, to_ms: 3_000 },
    { from_ms: 5_000, to_ms: 5_000 },
    { from_ms: 20_000, to_ms: 20_000 },
  ]);
});

test('the table has the mean of each part, and an empty cell if nothing was measured', () => {
  expect(tableOf([HOST, VIEWER], { [HOST.name]: at([0, 1], [10, 3], [100, 7]) }, SPAN, 2)).toEqual([
    { from_ms: 0, means: [2, undefined] },
    { from_ms: 50_000, means: [7, undefined] },
  ]);
});
