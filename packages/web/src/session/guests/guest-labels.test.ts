import { expect, test } from 'vitest';
import { rightsLabel, watchingLabel } from './guest-labels.ts';

test.each([
  [{ role: 'watch', pad_index: null }, 'Watch only'],
  [{ role: 'gamepad', pad_index: 1 }, 'Gamepad 2'],
  [{ role: 'full', pad_index: null }, 'Full control'],
] as const)('%j: %s', (rights, label) => {
  expect(rightsLabel(rights)).toBe(label);
});

test.each([
  [[], ''],
  [[{ name: 'Ada', role: 'watch' }], 'Ada is watching'],
  [[{ name: 'Ada', role: 'gamepad' }], 'Ada is playing'],
  [
    [
      { name: 'Ada', role: 'full' },
      { name: 'Bob', role: 'watch' },
    ],
    '2 guests are here',
  ],
] as const)('%j: %s', (guests, label) => {
  expect(watchingLabel(guests)).toBe(label);
});
