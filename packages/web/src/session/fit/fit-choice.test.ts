// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';
import { followsWindow, rememberFollowing } from './fit-choice.ts';

beforeEach(() => localStorage.clear());

test('an app keeps its own aspect ratio until the person chooses otherwise, separately for each app', () => {
  expect(followsWindow('a')).toBe(false);
  rememberFollowing('a', true);
  expect([followsWindow('a'), followsWindow('b')]).toEqual([true, false]);
  rememberFollowing('a', false);
  expect(followsWindow('a')).toBe(false);
});

test('a bounded number of apps is stored, and invalid storage is ignored', () => {
  for (let n = 0; n < 150; n++) rememberFollowing(`app${n}`, true);
  expect([followsWindow('app0'), followsWindow('app149')]).toEqual([false, true]);
  for (const text of ['{', 'null', '{"a":1}', '[1]']) {
    localStorage.setItem('footlight.fit-window', text);
    expect(followsWindow('a')).toBe(false);
  }
});
