import { describe, expect, test } from 'vitest';
import { ClockPairs } from './clock-pairs.ts';

describe('clock pairs', () => {
  test('the pair with the smallest round trip of the last twelve is used', () => {
    const pairs = new ClockPairs();
    expect(pairs.best()).toBeNull();
    pairs.add(1_000, 2_005, 1_010);
    expect(pairs.best()).toEqual({ offset_ms: 1_000, rtt_ms: 10 });
    for (let count = 0; count < 12; count++) pairs.add(0, 50, 40);
    expect(pairs.best()).toEqual({ offset_ms: 30, rtt_ms: 40 });
  });

  test('a pair is ignored if the clock was set back in between', () => {
    const pairs = new ClockPairs();
    pairs.add(1_000, 1_000, 900);
    expect(pairs.best()).toBeNull();
  });
});
