// @vitest-environment happy-dom
import { afterEach, expect, test } from 'vitest';
import { chosenVolume, rememberVolume } from './volume-choice.ts';

afterEach(() => localStorage.clear());

test('the volume is full until the person chooses another, which the browser keeps', () => {
  expect(chosenVolume()).toBe(1);
  rememberVolume(0.35);
  expect(chosenVolume()).toBe(0.35);
});

test.each(['loud', '-1', '7', ''])('a stored value that is no volume (%s) is ignored', (value) => {
  localStorage.setItem('footlight.volume', value);
  expect(chosenVolume()).toBe(1);
});
