import { expect, test } from 'vitest';
import { swapLabel } from './swap-labels.ts';

test.each([
  ['swapping', 'Changing the app'],
  ['swap rejected', 'The host did not change the app'],
  ['swap rolled back: the app drew nothing', 'The new app did not start; the previous one keeps running'],
  ['swap complete', null],
  ['app presented', null],
  [null, null],
  [undefined, null],
])('%s: %s', (detail, label) => {
  expect(swapLabel(detail)).toBe(label);
});
