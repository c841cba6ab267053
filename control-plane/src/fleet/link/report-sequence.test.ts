import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReportSequence } from './report-sequence.ts';

describe('numbers of reliable reports', () => {
  test('nothing is known of a new agent process', () => {
    expect(new ReportSequence('boot', null).last).toBeNull();
  });

  test('a report that was handled before a restart of the control plane is a repeat', () => {
    const reports = new ReportSequence('boot', 7);
    expect(reports.classify(7)).toBe('repeat');
    expect(reports.classify(8)).toBe('new');
  });

  test('a gap means reports that the backlog of the agent dropped', () => {
    const reports = new ReportSequence('boot', null);
    reports.handled(1);
    reports.handled(5);
    expect(reports.last).toBe(5);
    expect(reports.classify(6)).toBe('new');
  });

  test('a report that was overtaken is late, once', () => {
    const reports = new ReportSequence('boot', null);
    reports.handled(2);
    expect(reports.classify(1)).toBe('late');
    reports.handled(1);
    expect(reports.classify(1)).toBe('repeat');
    expect(reports.last).toBe(2);
  });

  test('a report that is being stored delays its confirmation and that of later ones', () => {
    const reports = new ReportSequence('boot', 4);
    reports.beginWrite(5);
    reports.beginWrite(7);
    reports.handled(6);
    reports.handled(8);
    expect(reports.last).toBe(4);
    reports.handled(5);
    expect(reports.last).toBe(6);
    reports.handled(7);
    expect(reports.last).toBe(8);
  });

  test('nothing is confirmed before the very first is stored', () => {
    const reports = new ReportSequence('boot', null);
    reports.beginWrite(1);
    reports.handled(2);
    expect(reports.last).toBeNull();
  });

  test('a report that was not stored is accepted again, and given up once the agent sends only later ones', () => {
    const reports = new ReportSequence('boot', null);
    reports.beginWrite(1);
    reports.beginWrite(3);
    reports.handled(4);
    reports.notStored(1);
    reports.notStored(3);
    expect([reports.classify(1), reports.last]).toEqual(['late', null]);
    reports.sendsFrom(3);
    expect([reports.classify(3), reports.last]).toEqual(['late', 2]);
    reports.beginWrite(3);
    reports.sendsFrom(5);
    expect(reports.last).toBe(2);
    reports.handled(3);
    expect([reports.classify(3), reports.last]).toEqual(['repeat', 4]);
  });

  test('an older state never wins over a newer one of the same session', () => {
    const reports = new ReportSequence('boot', null);
    expect(reports.isNewestState('a', 5)).toBe(true);
    expect(reports.isNewestState('a', 4)).toBe(false);
    expect(reports.isNewestState('b', 4)).toBe(true);
    expect(reports.isNewestState('a', 6)).toBe(true);
  });

  test('in any order and with any repeats, each report is handled exactly once', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 500 }), (arrivals) => {
        const reports = new ReportSequence('boot', null);
        const handled: number[] = [];
        for (const seq of arrivals) {
          if (reports.classify(seq) === 'repeat') continue;
          handled.push(seq);
          reports.handled(seq);
        }
        expect([...handled].sort((a, b) => a - b)).toEqual([...new Set(arrivals)].sort((a, b) => a - b));
        expect(reports.last).toBe(arrivals.length === 0 ? null : Math.max(...arrivals));
      }),
    );
  });

  test('each of several reports that are handled together is handled exactly once', () => {
    const run = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(run, { maxLength: 20 }), (runs) => {
        const reports = new ReportSequence('boot', null);
        const handled: number[] = [];
        for (const seqs of runs) {
          const fresh = reports.unhandled(seqs.map((seq) => ({ seq }))).map(({ seq }) => seq);
          for (const seq of fresh) reports.handled(seq);
          handled.push(...fresh);
        }
        expect([...handled].sort((a, b) => a - b)).toEqual([...new Set(runs.flat())].sort((a, b) => a - b));
      }),
    );
  });

  test('a report without a number is never a repeat', () => {
    const reports = new ReportSequence('boot', null);
    expect(reports.unhandled([{}, { seq: 1 }, {}, { seq: 1 }])).toEqual([{}, { seq: 1 }, {}]);
  });

  test('what is remembered is bounded', () => {
    const reports = new ReportSequence('boot', null);
    for (let seq = 1; seq <= 5_000; seq += 1) {
      reports.handled(seq);
      reports.isNewestState(`session ${seq}`, seq);
    }
    expect(reports.classify(1)).toBe('repeat');
    expect(reports.isNewestState('session 1', 1)).toBe(true);
  });
});
