import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LossShare } from './loss.ts';

describe('share of packets that got lost', () => {
  test('is computed once a second, from the totals', () => {
    const loss = new LossShare();
    expect(loss.report({ packetsLost: 0, highestSequence: 1_000 }, 0)).toBeNull();
    expect(loss.report({ packetsLost: 10, highestSequence: 1_100 }, 400)).toBeNull();
    expect(loss.report({ packetsLost: 40, highestSequence: 1_400 }, 1_000)).toBe(0.1);
    expect(loss.report({ packetsLost: 40, highestSequence: 1_800 }, 2_000)).toBe(0);
  });

  test('a burst that a receiver reports repeatedly counts once', () => {
    const loss = new LossShare();
    const shares: number[] = [];
    for (let nowMs = 0; nowMs <= 3_000; nowMs += 20) {
      const packetsLost = Math.min(60, Math.max(0, (nowMs - 100) * 0.5));
      const share = loss.report({ packetsLost, highestSequence: nowMs * 0.4 }, nowMs);
      if (share !== null) shares.push(share);
    }
    expect(shares).toEqual([0.15, 0, 0]);
  });

  test('for any totals the loss is a share from 0 to 1', () => {
    const totals = fc.record({ packetsLost: fc.integer(), highestSequence: fc.nat() });
    fc.assert(
      fc.property(fc.array(totals), (reports) => {
        const loss = new LossShare();
        for (const [i, report] of reports.entries()) {
          const share = loss.report(report, i * 700);
          if (share === null) continue;
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
