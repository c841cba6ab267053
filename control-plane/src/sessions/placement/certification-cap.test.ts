import { DAY_MS } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { type Certification, isOverCertified, nextLowerProfile } from './certification-cap.ts';

const NOW = 100 * DAY_MS;
const row = (more: Partial<Certification> = {}): Certification => ({
  stream_profile_id: 'rung',
  bitrate_kbps: 8_000,
  verdict: 'unsafe',
  live_write_stable: true,
  measured_at: NOW - DAY_MS,
  ...more,
});

describe('a measurement refuses a rung', () => {
  test.each([
    ['unsafe', [row()], true],
    [
      'capped, and the rate could not be changed',
      [row({ verdict: 'capped', live_write_stable: false })],
      true,
    ],
    ['capped, and the rate could be changed', [row({ verdict: 'capped' })], false],
    ['ok', [row({ verdict: 'ok', live_write_stable: false })], false],
    ['none', [], false],
    ['of another rung', [row({ stream_profile_id: 'other' })], false],
    ['7 days old', [row({ measured_at: NOW - 7 * DAY_MS })], true],
    ['older', [row({ measured_at: NOW - 7 * DAY_MS - 1 })], false],
    [
      'the closest bitrate counts',
      [row({ bitrate_kbps: 12_000 }), row({ bitrate_kbps: 6_500, verdict: 'ok' })],
      false,
    ],
    [
      'of two as close, the newest',
      [
        row({ bitrate_kbps: 6_000, verdict: 'ok', measured_at: NOW - 2 }),
        row({ bitrate_kbps: 10_000, measured_at: NOW - 1 }),
      ],
      true,
    ],
  ] as const)('%s', (_what, rows, expected) => {
    expect(isOverCertified(rows, 'rung', 8_000, NOW)).toBe(expected);
  });
});

test.each([
  ['1440p120', '1440p60'],
  ['1440p60', '1080p120'],
  ['1080p120', '1080p60'],
  ['1080p60', '720p60'],
  ['720p60', '720p30'],
  ['720p30', null],
  ['4k60', null],
])('below %s lies %s', (from, to) => {
  expect(nextLowerProfile(from)).toBe(to);
});
