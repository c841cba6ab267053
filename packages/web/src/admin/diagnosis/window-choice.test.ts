import { describe, expect, test } from 'vitest';
import { type DiagnosisSearch, parseDiagnosisSearch } from '../../search/diagnosis-search.ts';
import { fieldOf, instantOf, momentBeside, windowOf } from './window-choice.ts';

const NOW = 1_795_168_800_000;
const MINUTE = 60_000;

describe('the window of a diagnosis', () => {
  test.each<[string, DiagnosisSearch, number | null, from: number, to: number | undefined, grows: boolean]>([
    ['live: up to now', {}, null, -5, undefined, true],
    ['live, ten minutes', { minutes: 10 }, null, -10, undefined, true],
    ['ended: up to the end', {}, NOW - 60 * MINUTE, -65, -60, false],
    ['a moment is in the middle', { at: NOW - 30 * MINUTE }, null, -32.5, -27.5, false],
    ['a moment a minute ago', { at: NOW - MINUTE, minutes: 10 }, null, -6, 4, true],
    ['never past the end', { at: NOW - 60 * MINUTE }, NOW - 59 * MINUTE, -64, -59, false],
  ])('%s', (_what, search, endedAt, from, to, grows) => {
    expect(windowOf(search, { startedAtMs: NOW - 90 * MINUTE, endedAtMs: endedAt }, NOW)).toEqual({
      from: NOW + from * MINUTE,
      ...(to !== undefined && { to: NOW + to * MINUTE }),
      grows,
    });
  });

  test('the next window begins where the previous one ends', () => {
    const shown = { from_ms: NOW, to_ms: NOW + 2 * MINUTE };
    const beside = (direction: -1 | 1) =>
      windowOf(
        { at: momentBeside(shown, direction), minutes: 2 },
        { startedAtMs: NOW - MINUTE, endedAtMs: null },
        NOW + 10 * MINUTE,
      );
    expect(beside(1).from).toBe(shown.to_ms);
    expect(beside(-1).to).toBe(shown.from_ms);
  });

  test.each([
    ['three minutes old: whole', 3, {}, 3],
    ['one minute old: the two minutes that are read at least', 1, {}, 2],
    ['three minutes old, five were chosen', 3, { minutes: 5 } as const, 5],
    ['three minutes old, ten were chosen', 3, { minutes: 10 } as const, 10],
  ])('of a session that is %s', (_what, age, search, minutes) => {
    const { from } = windowOf(search, { startedAtMs: NOW - age * MINUTE, endedAtMs: null }, NOW);
    expect(from).toBe(NOW - minutes * MINUTE);
  });
});

test('a date-time field returns its instant, to the second', () => {
  expect(instantOf(fieldOf(NOW))).toBe(NOW);
  expect(instantOf('')).toBeUndefined();
  expect(instantOf('14:03')).toBeUndefined();
});

test.each([
  [
    { at: NOW, minutes: 2 },
    { at: NOW, minutes: 2 },
  ],
  [
    { at: NOW + 0.4, minutes: 5 },
    { at: NOW, minutes: 5 },
  ],
  [{ at: '14:03', minutes: 3, x: 1 }, {}],
  [{ at: -1 }, {}],
  [{ at: 1e300 }, {}],
])('the address %j is %j', (search, parsed) => {
  expect(parseDiagnosisSearch(search)).toEqual(parsed);
});
