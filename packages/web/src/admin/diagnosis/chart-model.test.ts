import { expect, test } from 'vitest';
import { drawnLines, type Line, newestMs, pointsOf, tableOf, trueSpans, valueAt } from './chart-model.ts';

const SPAN = { from_ms: 0, to_ms: 100_000 };
const HOST: Line = { name: 'encoder.fps', label: 'encoder' };
const VIEWER: Line = { name: 'client.fps', label: 'viewer' };
const CLICKS: Line = { name: 'client.click_to_photon_ms', label: 'viewer', dots: true };
const LOST: Line = { name: 'transport.packets_lost', label: 'network', counts: true };
const at = (...points: (readonly [seconds: number, v: number])[]) =>
  points.map(([seconds, v]) => ({ ts_unix_ms: seconds * 1_000, v }));

test('a line of a viewer is interrupted sooner than a line of a host; clicks are dots', () => {
  const measure = { label: '', unit: '', digits: 0 as const, lines: [HOST, VIEWER, CLICKS] };
  expect(drawnLines(measure, { [HOST.name]: at([10, 5]) })).toEqual([
    { points: [{ x: 10_000, y: 5 }], gap: 12_500 },
    { points: [], gap: 3_500 },
    { points: [], gap: 0, dots: true },
  ]);
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
