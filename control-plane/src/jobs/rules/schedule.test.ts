import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isInWindow,
  moveIntoWindow,
  nextStart,
  parseTimeOfDay,
  type Window,
  writeTimeOfDay,
} from './schedule.ts';

const NOW = Date.parse('2026-06-02T12:00:00Z');
const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();
const window = (start: string, end: string, more: Partial<Window> = {}): Window => ({
  startSecs: parseTimeOfDay(start) as number,
  endSecs: parseTimeOfDay(end) as number,
  days: [],
  zone: 'UTC',
  ...more,
});

describe('times of day', () => {
  test.each([
    ['00:00', '00:00:00'],
    ['9:00', null],
    ['09:05', '09:05:00'],
    ['23:59:59', '23:59:59'],
    ['24:00', null],
    ['23:60', null],
    ['12:00:60', null],
    ['12', null],
    [' 12:00', null],
    ['', null],
  ])('%s is %s', (text, written) => {
    const secs = parseTimeOfDay(text);
    expect(secs === null ? null : writeTimeOfDay(secs)).toBe(written);
  });
});

describe('the next run of a job', () => {
  const schedule = { intervalMs: HOUR_MS, window: null };

  test.each([
    ['that never ran is now', null, NOW],
    ['counts from the end of the last one', NOW - 10 * MINUTE_MS, NOW + 50 * MINUTE_MS],
    ['that is overdue is now', NOW - 5 * HOUR_MS, NOW],
    ['that ended in the future (a clock was ahead) counts from now', NOW + DAY_MS, NOW + HOUR_MS],
  ])('%s', (_, last, expected) => {
    expect(nextStart(schedule, last, NOW)).toBe(expected);
  });

  test('without an interval never comes', () => {
    expect(nextStart({ intervalMs: null, window: null }, null, NOW)).toBeNull();
  });

  test('waits for the window', () => {
    const nightly = { intervalMs: HOUR_MS, window: window('03:00', '05:00') };
    expect(iso(nextStart(nightly, null, NOW) as number)).toBe('2026-06-03T03:00:00.000Z');
  });
});

describe('a window', () => {
  // 2026-06-02 is a Tuesday.
  test.each([
    ['keeps a time inside', window('11:00', '13:00'), '2026-06-02T12:00:00.000Z'],
    ['has its start', window('12:00', '13:00'), '2026-06-02T12:00:00.000Z'],
    ['does not have its end', window('11:00', '12:00'), '2026-06-03T11:00:00.000Z'],
    ['of later today', window('12:00:01', '13:00'), '2026-06-02T12:00:01.000Z'],
    ['that wraps midnight is open before its end', window('22:00', '12:30'), '2026-06-02T12:00:00.000Z'],
    ['that wraps midnight opens in the evening', window('22:00', '06:00'), '2026-06-02T22:00:00.000Z'],
    ['of another day waits for it', window('11:00', '13:00', { days: [1] }), '2026-06-08T11:00:00.000Z'],
    [
      'that wraps midnight belongs to the day on which it opened',
      window('22:00', '12:30', { days: [1] }),
      '2026-06-02T12:00:00.000Z',
    ],
    [
      'that wraps midnight is closed on the morning after other days',
      window('22:00', '12:30', { days: [2] }),
      '2026-06-02T22:00:00.000Z',
    ],
    [
      'of its only day, over, waits a week',
      window('10:00', '11:00', { days: [2] }),
      '2026-06-09T10:00:00.000Z',
    ],
    ['is one of its own zone', window('03:00', '05:00', { zone: 'Asia/Tokyo' }), '2026-06-02T18:00:00.000Z'],
    [
      'of a zone that this runtime does not know is one of UTC',
      window('13:00', '14:00', { zone: 'Mars/Olympus' }),
      '2026-06-02T13:00:00.000Z',
    ],
  ])('%s', (_, given, expected) => {
    expect(iso(moveIntoWindow(given, NOW))).toBe(expected);
  });
});

describe('across a change of the clocks (Berlin: 2026-03-29 02:00 to 03:00, 2026-10-25 03:00 to 02:00)', () => {
  const berlin = { zone: 'Europe/Berlin' };

  test.each([
    ['opens at its local time before', '02:30', '04:00', '2026-03-28T12:00:00Z', '2026-03-29T01:00:00.000Z'],
    ['and after', '02:30', '04:00', '2026-03-29T12:00:00Z', '2026-03-30T00:30:00.000Z'],
    [
      'that the clocks skip waits a day',
      '02:15',
      '02:45',
      '2026-03-28T12:00:00Z',
      '2026-03-30T00:15:00.000Z',
    ],
    [
      'is open in both hours that are shown twice',
      '02:00',
      '02:30',
      '2026-10-25T01:10:00Z',
      '2026-10-25T01:10:00.000Z',
    ],
    ['is closed between them', '02:00', '02:30', '2026-10-25T00:40:00Z', '2026-10-25T01:00:00.000Z'],
    ['keeps its local time in winter', '03:00', '05:00', '2026-10-25T12:00:00Z', '2026-10-26T02:00:00.000Z'],
    ['wraps midnight over the change', '23:00', '03:30', '2026-10-25T02:10:00Z', '2026-10-25T02:10:00.000Z'],
  ])('a window %s', (_, start, end, from, expected) => {
    expect(iso(moveIntoWindow(window(start, end, berlin), at(from)))).toBe(expected);
  });

  test('in a zone whose clocks change by half an hour', () => {
    // Lord Howe Island: 2026-04-05 02:00 (+11) is set back to 01:30 (+10:30).
    const howe = window('01:45', '01:50', { zone: 'Australia/Lord_Howe' });
    expect(iso(moveIntoWindow(howe, at('2026-04-04T14:55:00Z')))).toBe('2026-04-04T15:15:00.000Z');
  });
});

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'America/Santiago',
  'Pacific/Apia',
  'Asia/Kathmandu',
];

test('the first instant of a window is in it, and none before is', () => {
  const secs = fc.integer({ min: 0, max: 86_399 });
  fc.assert(
    fc.property(
      fc.record({
        startSecs: secs,
        endSecs: secs,
        days: fc.uniqueArray(fc.integer({ min: 0, max: 6 })),
        zone: fc.constantFrom(...ZONES),
      }),
      fc.integer({ min: at('2010-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') }),
      (given, fromMs) => {
        fc.pre(given.startSecs !== given.endSecs);
        const foundMs = moveIntoWindow(given, fromMs);
        expect(foundMs).toBeGreaterThanOrEqual(fromMs);
        expect(isInWindow(given, foundMs)).toBe(true);
        if (foundMs > fromMs) expect(isInWindow(given, foundMs - 1)).toBe(false);
        // Windows are at least a second long, but checking a week in steps of one second would take too long.
        const stepMs = Math.max(SECOND_MS, Math.floor((foundMs - fromMs) / 200));
        for (let ms = fromMs; ms < foundMs; ms += stepMs) expect(isInWindow(given, ms)).toBe(false);
      },
    ),
    { numRuns: 300 },
  );
});
