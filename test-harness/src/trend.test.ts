import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { floors, grows } from './trend.ts';

const steps = (count: number, sample: (step: number) => number): number[] =>
  Array.from({ length: count }, (_, step) => sample(step));

describe('a trend', () => {
  test.each([
    ['one more in every step', steps(15, (step) => 20 + step)],
    ['one more in every tenth step', steps(145, (step) => 20 + Math.floor(step / 10))],
    ['one more in every 40th step', steps(145, (step) => 20 + Math.floor(step / 40))],
    ['growth behind the teeth of a collector', steps(145, (step) => 100 + 0.5 * step + ((step * 7) % 20))],
  ])('is seen: %s', (_what, samples) => {
    expect(grows(samples)).toBe(true);
  });

  test.each([
    ['nothing at all', []],
    ['one sample', [3]],
    ['the same all the time', steps(145, () => 20)],
    ['a value that comes and goes', steps(145, (step) => 20 + (step % 3 === 0 ? 1 : 0))],
    ['a single step late in the run', steps(145, (step) => (step > 120 ? 21 : 20))],
    ['a single peak', steps(145, (step) => (step === 100 ? 400 : 20))],
    ['the teeth of a collector', steps(145, (step) => 100 + ((step * 7) % 20))],
    ['what shrinks', steps(145, (step) => 200 - step)],
  ])('is not seen: %s', (_what, samples) => {
    expect(grows(samples)).toBe(false);
  });

  test('allowed growth is not reported, and growth beyond it is', () => {
    const slow = steps(145, (step) => 100 + 0.05 * step + (step % 5));
    expect(grows(slow)).toBe(true);
    expect(grows(slow, 0.1)).toBe(false);
    expect(
      grows(
        steps(145, (step) => 100 + 0.2 * step + (step % 5)),
        0.1,
      ),
    ).toBe(true);
  });

  test('a leak is found in any noise', () => {
    const noise = fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 140, maxLength: 145 });
    fc.assert(
      fc.property(noise, (samples) => {
        expect(grows(samples.map((sample, step) => sample + step))).toBe(true);
      }),
      { seed: 1 },
    );
  });

  test('noise alone is not a leak', () => {
    const noise = fc.sample(fc.array(fc.nat(), { minLength: 145, maxLength: 145 }), {
      numRuns: 500,
      seed: 1,
    });
    expect(noise.filter((samples) => grows(samples))).toEqual([]);
  });
});

test('the floor of each run of samples is its minimum', () => {
  expect(floors([3, 1, 2, 9, 8, 7, 0], 3)).toEqual([1, 7]);
});
