import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plausibleVram, type ReportedVram, type StoredVram } from './vram.ts';

describe('a VRAM sample', () => {
  test.each<[ReportedVram, number, StoredVram, string]>([
    [{ used_mb: 2000, free_mb: 6000 }, 8000, { used: 2000, free: 6000 }, 'adds up'],
    [{ used_mb: 2300, free_mb: 6000 }, 8000, { used: 2300, free: 6000 }, 'is within the tolerance'],
    [{ used_mb: 2401, free_mb: 6000 }, 8000, { used: null, free: null }, 'sums over 1.05 of the total'],
    [{ used_mb: -1, free_mb: 6000 }, 8000, { used: null, free: null }, 'is negative'],
    [{ used_mb: 10, free_mb: -1 }, 8000, { used: null, free: null }, 'has negative free memory'],
    [{ used_mb: 0, free_mb: 8001 }, 8000, { used: null, free: null }, 'has more free than there is'],
    [{ used_mb: 0, free_mb: 0 }, 8000, { used: null, free: null }, 'is all zero on a card with memory'],
    [{ used_mb: 0, free_mb: 0 }, 0, { used: 0, free: 0 }, 'is all zero without memory'],
    [{ used_mb: 100 }, 8000, { used: 100, free: null }, 'lacks what was not measured'],
    [{}, 8000, { used: null, free: null }, 'says nothing'],
  ])('%o of %i MB → %o: it %s', (sample, total, stored) => {
    expect(plausibleVram(sample, total)).toEqual(stored);
  });

  test('never stores a negative figure or more free memory than there is', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.nat(), (used_mb, free_mb, total) => {
        const { used, free } = plausibleVram({ used_mb, free_mb }, total);
        expect((used ?? 0) >= 0 && (free ?? 0) >= 0 && (free ?? 0) <= total).toBe(true);
      }),
    );
  });
});
