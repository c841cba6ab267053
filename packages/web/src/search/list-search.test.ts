import { expect, test } from 'vitest';
import { parseDiagnosisSearch } from './diagnosis-search.ts';
import { parseListSearch } from './list-search.ts';
import { parseSessionSearch } from './session-search.ts';

test.each([
  [
    { q: ' alpha ', sort: '-name', other: 'x' },
    { q: 'alpha', sort: '-name' },
  ],
  // A search for an id of digits.
  [{ q: 440 }, { q: '440' }],
  [{ q: '  ', sort: ['name'] }, {}],
  [{ q: 'a'.repeat(300) }, { q: 'a'.repeat(100) }],
])('%j becomes %j', (search, parsed) => {
  expect(parseListSearch(search, ['q', 'sort'])).toEqual(parsed);
});

/** As the router does: it merges the parsed state over everything in the URL. */
const given = (raw: Record<string, unknown>, parsed: object) => ({ ...raw, ...parsed });

test.each([{ a: 1 }, ['x'], true, null])('%j in an address never reaches a page', (odd) => {
  const raw = { q: odd, sort: odd, state: odd, at: odd, minutes: odd };
  const nothing = { q: undefined, sort: undefined, state: undefined, at: undefined, minutes: undefined };
  expect(given(raw, parseListSearch(raw, ['q', 'sort']))).toMatchObject({ q: undefined, sort: undefined });
  expect(given(raw, { ...parseSessionSearch(raw), ...parseDiagnosisSearch(raw) })).toMatchObject(nothing);
});
