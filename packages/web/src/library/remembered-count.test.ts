// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';
import { areFew, rememberCount, rememberedCount } from './remembered-count.ts';

beforeEach(() => localStorage.clear());

test.each([
  [null, 12],
  ['4', 4],
  ['0', 12],
  ['2000', 12],
  ['x', 12],
])('with %j kept, %i resting places are shown', (kept, count) => {
  if (kept !== null) localStorage.setItem('footlight.library.apps', kept);
  expect(rememberedCount()).toBe(count);
});

test('a number is kept for the next visit', () => {
  rememberCount(5);
  expect(rememberedCount()).toBe(5);
});

test('one to seven apps are few', () => {
  expect([0, 1, 7, 8].map(areFew)).toEqual([false, true, true, false]);
});
