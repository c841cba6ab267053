import { describe, expect, test } from 'vitest';
import { Failed, runWithIndividualRetry } from './individual-retry.ts';

const AWAY = Object.assign(new Error('the server shuts down'), { code: '57P01' });
const ODD = new Error('odd');

/** Work that doubles even numbers; every batch with an odd number fails. */
function setUp(failure: (n: number) => Error | null) {
  const tried: number[][] = [];
  const work = async (some: readonly number[]) => {
    tried.push([...some]);
    for (const n of some) {
      const error = failure(n);
      if (error !== null) throw error;
    }
    return some.map((n) => 2 * n);
  };
  return { tried, work };
}

describe('a batch that fails', () => {
  test('is run part by part, and only the faulty part fails', async () => {
    const { tried, work } = setUp((n) => (n % 2 === 1 ? ODD : null));
    expect(await runWithIndividualRetry([2, 3, 4], work)).toEqual([4, new Failed(ODD), 8]);
    expect(tried).toEqual([[2, 3, 4], [2], [3], [4]]);
  });

  test('is not run part by part while the database is down', async () => {
    const { tried, work } = setUp(() => AWAY);
    expect(await runWithIndividualRetry([2, 3], work)).toEqual([new Failed(AWAY), new Failed(AWAY)]);
    expect(tried).toEqual([[2, 3]]);
  });

  test('fails from the part on at which the database goes down', async () => {
    const { tried, work } = setUp((n) => (n === 1 ? ODD : n === 3 ? AWAY : null));
    expect(await runWithIndividualRetry([1, 2, 3, 4], work)).toEqual([
      new Failed(ODD),
      4,
      new Failed(AWAY),
      new Failed(AWAY),
    ]);
    expect(tried).toEqual([[1, 2, 3, 4], [1], [2], [3]]);
  });
});
