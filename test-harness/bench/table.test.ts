import { describe, expect, test } from 'vitest';
import { tableRow } from './table.ts';

const today = new Date('2026-11-22T10:00:00Z');
const machine = { cores: 2, load: 0.94 };

describe('a row of the table of benches', () => {
  test('compares the subject with the reference of the same run', () => {
    const verdict = {
      bench: 'g2g',
      rounds: 5,
      referenceMedian: 65,
      subjectMedian: 46,
      ratioMedian: 0.71,
      ratioMin: 0.38,
      ratioMax: 1.03,
      referenceSpread: 1.4,
      verdict: 'missed',
      unit: 'ms',
      mark: 0.65,
    };
    expect(tableRow(verdict, today, machine)).toBe(
      '| `g2g` | 46 ms, 0.71 of the reference | 0.38 to 1.03; 5 rounds | 65 ms, varied by 1.4; mark 0.65: missed | 2026-11-22 | 2 cores, load 0.9 |',
    );
  });

  test('shows all figures of a bench without a reference', () => {
    const verdict = {
      bench: 'reconnect',
      hosts: 1_000,
      rounds: 3,
      worstSecs: 4.2,
      mark: '5 s',
      verdict: 'met',
    };
    expect(tableRow(verdict, today, machine)).toBe(
      '| `reconnect` | hosts 1000, worstSecs 4.2 | 3 rounds | mark 5 s: met | 2026-11-22 | 2 cores, load 0.9 |',
    );
  });
});
