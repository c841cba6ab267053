import { expect, test } from 'vitest';
import { everyLabel, splitInterval } from './interval-labels.ts';

test('an interval is split into its largest whole unit', () => {
  expect(splitInterval(172_800)).toEqual({ count: 2, unit: 'days' });
  expect(splitInterval(5_400)).toEqual({ count: 90, unit: 'minutes' });
  expect(splitInterval(61)).toEqual({ count: 61, unit: 'seconds' });
});

test.each([
  [0, 'Never'],
  [90, 'Every 90 seconds'],
  [1_800, 'Every 30 minutes'],
  [3_600, 'Every hour'],
  [21_600, 'Every 6 hours'],
])('%i s: %s', (seconds, label) => {
  expect(everyLabel(seconds)).toBe(label);
});
