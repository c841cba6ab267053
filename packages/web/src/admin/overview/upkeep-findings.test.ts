import { expect, test } from 'vitest';
import { image, job, jobRun, jobs, onHost } from '../../../test/upkeep-fixtures.ts';
import { upkeepFindings } from './upkeep-findings.ts';

test('name failing jobs, images that are missing on a host, and newer images', () => {
  const failing = job({
    last_run: jobRun(1, 0, { state: 'failed', error: 'The disk is full.' }),
    consecutive_failures: 2,
  });
  const missing = image({
    hosts: [onHost(1, { state: 'failed', error: 'no space', bytes: null }), onHost(2)],
  });
  const newer = image({ id: 'newer', version: '2', update_available: true });
  expect(upkeepFindings([failing, job()], [missing, newer, image()])).toMatchObject([
    { title: 'Expired sign-ins failed 2 times in a row', text: 'The disk is full.', tone: 'warning' },
    { title: 'Retro games is missing on 1 host', text: 'gpu-01: no space', tone: 'warning' },
    { title: 'Retro games 2 is available', text: '1.4.0 is in use.', tone: 'info' },
  ]);
});

test('a job that runs on one host and failed on another says where it failed', () => {
  expect(upkeepFindings(jobs, []).map(({ title, text }) => `${title}: ${text}`)).toEqual([
    'Artwork search failed 3 times in a row: The provider answered 503 to three requests in a row.',
    'Deletion of homes failed on 1 of 3 hosts: agent restarted',
  ]);
});

test('are shown whatever text a host sends about a failed run', () => {
  const odd = jobRun(1, 0, { state: 'failed', error: null, summary: { name: { toString: 0 } } });
  expect(upkeepFindings([job({ last_run: odd })], [])).toMatchObject([{ text: '{"toString":0}' }]);
});

test('ignore what is off, pinned or not installed', () => {
  const failed = jobRun(1, 0, { state: 'failed', error: 'x' });
  const broken = [onHost(1, { state: 'failed' as const, error: 'x' })];
  expect(
    upkeepFindings(
      [job({ enabled: false, last_run: failed })],
      [image({ update_available: true, pinned: true }), image({ installed: false, hosts: broken })],
    ),
  ).toEqual([]);
});
