// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';
import { areFew, readRemembered, remember } from './remembered-count.ts';

beforeEach(() => localStorage.clear());

test('the size of a library is unknown at first, and stored by a visit', () => {
  expect(readRemembered()).toEqual({ apps: null, favourites: 0 });
  remember(500, 3);
  expect(readRemembered()).toEqual({ apps: 500, favourites: 3 });
});

test.each(['', '-3', 'many'])('a stored %j counts as unknown', (stored) => {
  localStorage.setItem('footlight.library.apps', stored);
  expect(readRemembered().apps).toBeNull();
});

test.each([
  [0, false],
  [1, true],
  [7, true],
  [8, false],
])('%i apps are few: %s', (count, few) => expect(areFew(count)).toBe(few));
