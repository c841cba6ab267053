import { expect, test } from 'vitest';
import { parseListSearch } from './list-search.ts';

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
