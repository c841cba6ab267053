import { expect, test } from 'vitest';
import { parseSessionSearch } from './session-search.ts';

test('the URL of the sessions page keeps only known values', () => {
  expect(parseSessionSearch({ state: 'nonsense', q: 7, open: 'x' })).toEqual({ q: '7' });
  expect(parseSessionSearch({ state: 'active' })).toEqual({});
  expect(parseSessionSearch({ state: 'failed', q: 'a'.repeat(200) })).toEqual({
    state: 'failed',
    q: 'a'.repeat(100),
  });
});
