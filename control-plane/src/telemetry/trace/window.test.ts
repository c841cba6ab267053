import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { windowOf } from './window.ts';

const NOW = 1_795_168_800_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('the window of a read', () => {
  test.each([
    ['nothing asked, live: the last five minutes', {}, null, [-5, 0]],
    ['nothing asked, ended: the last five minutes of the session', {}, NOW - 60 * MINUTE, [-65, -60]],
    ['only a start', { from: NOW - 3 * MINUTE }, null, [-3, 0]],
    ['only an end', { to: NOW - 30 * MINUTE }, null, [-35, -30]],
    ['an end after that of the session', { to: NOW }, NOW - 60 * MINUTE, [-5, 0]],
    ['both', { from: NOW - 9 * MINUTE, to: NOW - 2 * MINUTE }, null, [-9, -2]],
    ['a start at the end', { from: NOW - MINUTE, to: NOW - MINUTE }, null, [-6, -1]],
    ['a start after the end', { from: NOW, to: NOW - MINUTE }, null, [-6, -1]],
    ['two minutes', { from: NOW - 2 * MINUTE }, null, [-2, 0]],
    ['less than two minutes: two, and the end stays', { from: NOW - 2 * MINUTE + 1 }, null, [-2, 0]],
    ['ten minutes', { from: NOW - 10 * MINUTE }, null, [-10, 0]],
    ['more than ten minutes: ten, and the end stays', { from: NOW - 10 * MINUTE - 1 }, null, [-10, 0]],
  ])('%s', (_what, asked, endedAt, [from = 0, to = 0]) => {
    expect(windowOf(asked, endedAt, NOW)).toEqual({
      from_ms: NOW + from * MINUTE,
      to_ms: NOW + to * MINUTE,
    });
  });

  test('has two to ten minutes, and the end that was asked for', () => {
    const instant = fc.integer({ min: NOW - DAY, max: NOW + DAY });
    const asked = fc.record({ from: instant, to: instant }, { requiredKeys: [] });
    fc.assert(
      fc.property(asked, fc.option(instant), (ends, endedAtMs) => {
        const { from_ms, to_ms } = windowOf(ends, endedAtMs, NOW);
        expect(to_ms).toBe(ends.to ?? endedAtMs ?? NOW);
        expect(to_ms - from_ms).toBeGreaterThanOrEqual(2 * MINUTE);
        expect(to_ms - from_ms).toBeLessThanOrEqual(10 * MINUTE);
      }),
    );
  });
});
