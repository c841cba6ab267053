import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { moved } from './chain.ts';

describe('a chain', () => {
  test('swaps a rung with its neighbour', () => {
    expect(moved(['a', 'b', 'c'], 1, -1)).toEqual(['b', 'a', 'c']);
    expect(moved(['a', 'b', 'c'], 1, 1)).toEqual(['a', 'c', 'b']);
  });

  test('stays as it is at its ends', () => {
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b']);
    expect(moved(['a', 'b'], 1, 1)).toEqual(['a', 'b']);
  });

  test('keeps every rung, and a move back undoes a move', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string()), fc.nat(), (chain, at) => {
        const index = chain.length === 0 ? 0 : at % chain.length;
        const next = moved(chain, index, 1);
        expect([...next].sort()).toEqual([...chain].sort());
        if (index + 1 < chain.length) expect(moved(next, index + 1, -1)).toEqual(chain);
      }),
    );
  });
});
