import { expect, test } from 'vitest';
import { placesOf } from './curve-places.ts';

const curve = [
  { n: 1, encode_ms_p95: 5 },
  { n: 2, encode_ms_p95: 10 },
  { n: 3, encode_ms_p95: 20 },
];

test('rises with the encode time, from the first to the last number of sessions', () => {
  const { dots } = placesOf({ curve, sessions: 2 }, 16.7);
  expect(dots.map(({ x }) => x)).toEqual([6, 130, 254]);
  const heights = dots.map(({ y }) => y);
  expect(heights).toEqual([...heights].sort((a, b) => b - a));
});

test('a value above the frame time is above its line, and does not pass', () => {
  const { dots, limitY } = placesOf({ curve, sessions: 2 }, 16.7);
  expect(dots.map(({ y, passes }) => [y > (limitY ?? 0), passes])).toEqual([
    [true, true],
    [true, true],
    [false, false],
  ]);
});

test('a single point and an unknown frame rate can be drawn', () => {
  const { dots, limitY } = placesOf({ curve: curve.slice(0, 1), sessions: 1 }, null);
  expect(limitY).toBeNull();
  expect(dots).toEqual([{ x: 6, y: expect.any(Number), passes: true }]);
  expect(Number.isFinite(dots[0]?.y)).toBe(true);
});
