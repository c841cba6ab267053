import { expect, test, vi } from 'vitest';
import { durationLabel } from '../i18n/duration-labels.ts';
import { relativeLabel } from './relative-time.tsx';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [0, 'just now'],
  [-59_000, 'just now'],
  [-119_000, '1 minute ago'],
  [-59 * MINUTE - 59_000, '59 minutes ago'],
  [-HOUR, '1 hour ago'],
  [-25 * HOUR, 'yesterday'],
  [30_000, 'in under a minute'],
  [90_000, 'in 2 minutes'],
  [HOUR - 1_000, 'in 1 hour'],
  [24 * HOUR - 1_000, 'tomorrow'],
  [7 * 24 * HOUR - 5_000, 'in 7 days'],
])('%i ms from now is %j', (offset, label) => {
  expect(relativeLabel(offset)).toBe(label);
});

test.each([
  [4_999, '4 s'],
  [187_000, '3:07'],
  [3_765_000, '1:02:45'],
])('%i ms take %j', (ms, label) => {
  expect(durationLabel(ms)).toBe(label);
});

test('a page without times and counts creates no number or date format', async () => {
  const made = [
    vi.spyOn(Intl, 'RelativeTimeFormat'),
    vi.spyOn(Intl, 'DateTimeFormat'),
    vi.spyOn(Intl, 'PluralRules'),
  ];
  vi.resetModules();
  await import('./relative-time.tsx');
  const label = await import('../i18n/translate.ts');
  label.putInForce({}, 'de-DE');
  expect(made.map((format) => format.mock.calls.length)).toEqual([0, 0, 0]);
  vi.restoreAllMocks();
  // Test files that run after this one share these modules.
  label.putInForce({}, 'en-GB');
});
