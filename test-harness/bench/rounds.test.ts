import { describe, expect, test } from 'vitest';
import { exitStatus, judge, percentile } from './rounds.ts';

const rounds = [
  { reference: 50, subject: 25 },
  { reference: 52, subject: 26 },
  { reference: 48, subject: 48 },
];

describe('a bench is judged', () => {
  test('by the median of the per-round ratios, so one bad round does not decide', () => {
    const judgement = judge('g2g', rounds, (ratio) => ratio <= 0.65);
    expect(judgement).toMatchObject({ ratioMedian: 0.5, ratioMin: 0.5, ratioMax: 1, verdict: 'met' });
    expect(exitStatus(judgement.verdict)).toBe(0);
  });

  test('as missed if the median is over the mark', () => {
    expect(judge('g2g', rounds, (ratio) => ratio <= 0.4).verdict).toBe('missed');
  });

  test('not at all if the reference itself varied by more than half', () => {
    const noisy = [...rounds, { reference: 100, subject: 50 }];
    expect(exitStatus(judge('g2g', noisy, () => true).verdict)).toBe(3);
  });

  test('percentiles interpolate between the closest ranks', () => {
    expect(percentile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(percentile([10], 0.95)).toBe(10);
  });
});
