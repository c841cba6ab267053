import { systemClock } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { retryContended } from './contended.ts';

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** A clock whose timers fire at once; it records the waits. */
function fastClock() {
  const waits: number[] = [];
  const setTimeout: typeof systemClock.setTimeout = (run, ms) => {
    waits.push(ms);
    const turn = setImmediate(run);
    return { cancel: () => clearImmediate(turn) };
  };
  return { waits, clock: { ...systemClock, setTimeout } };
}

function failing(times: number, code: string) {
  let runs = 0;
  const work = async () => {
    runs += 1;
    if (runs <= times) throw failure(code);
    return runs;
  };
  return { work, runs: () => runs };
}

describe('work that conflicts with other transactions', () => {
  test.each(['40P01', '40001'])('is done again after %s, later each time', async (code) => {
    const { waits, clock } = fastClock();
    expect(await retryContended(clock, failing(3, code).work)).toBe(4);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits).toHaveLength(3);
  });

  test('is given up after a bounded number of runs', async () => {
    const { work, runs } = failing(1_000, '40P01');
    await expect(retryContended(fastClock().clock, work)).rejects.toThrow('40P01');
    expect(runs()).toBe(6);
  });

  test.each(['23505', '57P01', '23503'])('fails at once with %s', async (code) => {
    const { work, runs } = failing(1, code);
    await expect(retryContended(fastClock().clock, work)).rejects.toThrow(code);
    expect(runs()).toBe(1);
  });
});
