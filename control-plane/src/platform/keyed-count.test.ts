import { describe, expect, test } from 'vitest';
import { createKeyedCount } from './keyed-count.ts';

describe('a tally', () => {
  test('counts what is under way by key and in all', () => {
    const tally = createKeyedCount();
    tally.begin('a');
    const end = tally.begin('a');
    tally.begin('b');
    expect([tally.of('a'), tally.of('b'), tally.of('c'), tally.total]).toEqual([2, 1, 0, 3]);
    end();
    expect([tally.of('a'), tally.total]).toEqual([1, 2]);
  });

  test('decrements once for each end, however often it is called', () => {
    const tally = createKeyedCount();
    tally.begin('a');
    const end = tally.begin('a');
    end();
    end();
    expect([tally.of('a'), tally.total]).toEqual([1, 1]);
  });
});
