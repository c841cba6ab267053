import { expect, test } from 'vitest';
import { backup, backupJob } from '../../../test/upkeep-fixtures.ts';
import { backupFindings } from './backup-findings.ts';

const HOUR_MS = 60 * 60 * 1_000;
const NOW_MS = Date.parse('2026-06-02T12:00:00.000Z');
const aged = (hours: number, part: Parameters<typeof backup>[0] = {}) =>
  backup({ created_at: new Date(NOW_MS - hours * HOUR_MS).toISOString(), ...part });
const titles = (...given: Parameters<typeof backupFindings>) =>
  backupFindings(...given).map(({ title }) => title);

test.each([
  ['a fresh one', [aged(47), aged(90)], []],
  ['the newest is too old', [aged(73)], ['The newest verified backup is 3 days old']],
  [
    'the fresh one is not verified',
    [aged(1, { verified: false }), aged(49)],
    ['The newest verified backup is 2 days old'],
  ],
  ['none is there', [], ['There is no verified backup']],
] as const)('%s', (_what, backups, expected) => {
  expect(titles(backupJob(), backups, NOW_MS)).toEqual(expected);
});

test.each([
  ['the job has not run yet', backupJob({ last_run: null })],
  ['the job is switched off', backupJob({ enabled: false })],
  ['no schedule makes backups', backupJob({ schedule: { ...backupJob().schedule, interval_secs: 0 } })],
  ['the service has no such job', undefined],
])('nothing is expected while %s', (_what, job) => {
  expect(titles(job, [], NOW_MS)).toEqual([]);
});
