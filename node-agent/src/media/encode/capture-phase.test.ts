import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { captureShiftMs, pictureEnds } from './capture-phase.ts';

const FRAME_MS = 1000 / 60;
const COUNT = 24;

/** Draws at one phase, with a deviation of this sign in turn. */
function steady(atMs: number, deviationMs = 0): number[] {
  return Array.from({ length: COUNT }, (_, i) => atMs + (i % 2 === 0 ? deviationMs : -deviationMs));
}

const modulo = (value: number, by: number) => ((value % by) + by) % by;

describe('the pictures among the draws', () => {
  test.each([
    ['no draw', [], []],
    ['one draw each', [0, 16, 33], [0, 16, 33]],
    ['a picture of several draws ends with the last of them', [0, 1, 2.5, 16, 17.9, 33], [2.5, 17.9, 33]],
    ['240 pictures a second stay apart', [0, 4.2, 8.3], [0, 4.2, 8.3]],
  ])('%s', (_, drawn, ends) => {
    expect(pictureEnds(drawn)).toEqual(ends);
  });
});

describe('capture follows the drawing', () => {
  test.each([
    ['drawn 5 ms after a capture: 6 ms later', steady(5), 6],
    ['drawn 15 ms after a capture: the next one is 0.67 ms too early', steady(15), 16 - FRAME_MS],
    ['drawn just before a capture', steady(FRAME_MS - 1), 0],
    ['drawn with it', steady(0), 1],
    ['every second picture of the stream', steady(5).map((at, i) => at + (i % 2) * FRAME_MS), 6],
  ])('%s', (_, positions, shift) => {
    expect(captureShiftMs(positions, FRAME_MS)).toBeCloseTo(shift, 6);
  });

  test('an unsteady app gets two deviations more', () => {
    const [steadyMs, unsteadyMs] = [steady(5), steady(5, 1)].map((at) => captureShiftMs(at, FRAME_MS) ?? 0);
    expect((unsteadyMs ?? 0) - (steadyMs ?? 0)).toBeCloseTo(2, 1);
  });

  test.each([
    ['an app that stands still', []],
    ['less than 20 pictures a second', steady(5).slice(0, 7)],
    ['pictures at all phases', Array.from({ length: COUNT }, (_, i) => (i / COUNT) * FRAME_MS)],
    ['twice as many pictures as the stream has', steady(4).map((at, i) => at + ((i % 2) * FRAME_MS) / 2)],
  ])('not for %s', (_, positions) => {
    expect(captureShiftMs(positions, FRAME_MS)).toBeNull();
  });

  test('after the shift no steady draw waits longer than the margin and two deviations, at any frame rate', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 4, max: 50, noNaN: true }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.double({ min: 0, max: 0.1, noNaN: true }),
        (frameMs, phase, deviation) => {
          const positions = steady(phase * frameMs, deviation * frameMs);
          const shift = captureShiftMs(positions, frameMs);
          expect(Math.abs(shift ?? Number.NaN)).toBeLessThanOrEqual(frameMs / 2 + 1e-9);
          const waitMs = modulo((shift ?? 0) - phase * frameMs, frameMs);
          const wanted = modulo(1 + 2 * deviation * frameMs, frameMs);
          expect(Math.min(Math.abs(waitMs - wanted), frameMs - Math.abs(waitMs - wanted))).toBeLessThan(
            0.05 * frameMs,
          );
        },
      ),
    );
  });
});
