import { expect, test } from 'vitest';
import { webhookFindings } from './webhook-findings.ts';

const NOW_MS = Date.parse('2026-06-02T12:00:00.000Z');
const MINUTE_MS = 60_000;

test.each([
  ['none waits', null, []],
  ['the receiver is away for a short time', 29, []],
  ['the receiver fails', 30, ['2 events wait for the webhook']],
])('if %s', (_what, minutes, expected) => {
  const oldest_at = minutes === null ? null : new Date(NOW_MS - minutes * MINUTE_MS).toISOString();
  const findings = webhookFindings({ configured: true, waiting: 2, oldest_at }, NOW_MS);
  expect(findings.map(({ title }) => title)).toEqual(expected);
});

test('nothing is said before the answer is there', () => {
  expect(webhookFindings(undefined, NOW_MS)).toEqual([]);
});
