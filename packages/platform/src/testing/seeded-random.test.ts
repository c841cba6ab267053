import { describe, expect, test } from 'vitest';
import { seededRandom } from './seeded-random.ts';

describe('randomness of a seed', () => {
  const draws = (seed: number) => {
    const random = seededRandom(seed);
    return [random.number(), random.uuid(), random.bytes(5).toString('hex')];
  };

  test('repeats with the seed, and differs with another one', () => {
    expect(draws(7)).toEqual(draws(7));
    expect(draws(7)).not.toEqual(draws(8));
  });

  test('is spread over 0 to 1', () => {
    const random = seededRandom(1);
    const numbers = Array.from({ length: 10_000 }, () => random.number());
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(numbers.reduce((sum, n) => sum + n, 0) / numbers.length).toBeCloseTo(0.5, 1);
  });

  test('makes ids in the form of the protocol', () => {
    expect(seededRandom(3).uuid()).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
});
