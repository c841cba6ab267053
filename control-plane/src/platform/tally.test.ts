import { describe, expect, it } from 'vitest';
import { createTally } from './tally.ts';

describe('a tally', () => {
  it('counts what is under way by key and in all', () => {
    const tally = createTally();
    tally.begin('a');
    const end = tally.begin('a');
    tally.begin('b');
    expect([tally.of('a'), tally.of('b'), tally.of('c'), tally.total]).toEqual([2, 1, 0, 3]);
    end();
    expect([tally.of('a'), tally.total]).toEqual([1, 2]);
  });

  it('takes one away for one end, however often it is called', () => {
    const tally = createTally();
    tally.begin('a');
    const end = tally.begin('a');
    end();
    end();
    expect([tally.of('a'), tally.total]).toEqual([1, 1]);
  });
});
