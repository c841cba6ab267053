import { type Job, type JobRun, operations } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { resultLabel, scheduleLabel, standingOf } from './job-labels.ts';

const example = operations['admin.jobs.read'].example.response as Job;
const run = example.last_run as JobRun;
const interval = (interval_secs: number | null) => ({
  ...example.schedule,
  interval_secs,
  window_start: null,
  window_end: null,
});

describe('the label of a schedule', () => {
  test.each([
    [interval(86_400), 'Every day'],
    [interval(21_600), 'Every 6 hours'],
    [interval(900), 'Every 15 minutes'],
    [interval(60), 'Every minute'],
    [interval(90), 'Every 90 seconds'],
    // The environment disabled it.
    [interval(0), 'Never automatically'],
    [{ ...interval(null), kind: 'event' as const }, 'When it is needed'],
    [{ ...interval(null), kind: 'manual' as const }, 'Only when you run it'],
    [example.schedule, 'Every 6 hours, between 03:00 and 05:00 (Europe/Berlin)'],
    [
      { ...example.schedule, window_start: '22:30:15', window_days: [0, 5] },
      'Every 6 hours, between 22:30:15 and 05:00 on Sunday, Friday (Europe/Berlin)',
    ],
  ])('%j: %s', (schedule, label) => {
    expect(scheduleLabel(schedule)).toBe(label);
  });
});

describe('the label of a job in the list', () => {
  const failed: JobRun = { ...run, state: 'failed', error: 'no space left' };
  const target = (n: number, last_run: JobRun | null, running = false) => ({
    host_id: `h${n}`,
    node_name: `gpu-${n}`,
    running,
    next_run_at: `2026-06-03T0${n}:00:00.000Z`,
    last_run,
  });
  const { running: _running, last_run: _last, next_run_at: _next, ...head } = example;
  const ofHosts = (...targets: ReturnType<typeof target>[]): Job => ({ ...head, scope: 'host', targets });

  test.each<[string, Job, string, boolean]>([
    ['one that succeeded', example, 'Done', false],
    ['one that never ran', { ...example, last_run: null }, 'Has not run yet', false],
    ['one under way', { ...example, running: true, last_run: failed }, 'Running', true],
    ['one that failed', { ...example, last_run: failed, consecutive_failures: 1 }, 'Failed', true],
    [
      'one that fails again and again',
      { ...example, last_run: failed, consecutive_failures: 4 },
      'Failed 4 times in a row',
      true,
    ],
    ['a failed one that is off', { ...example, enabled: false, last_run: failed }, 'Switched off', false],
    [
      'one of hosts',
      ofHosts(target(1, run), target(2, failed), target(3, null)),
      'Failed on 1 of 3 hosts',
      true,
    ],
    ['one of hosts, under way', ofHosts(target(1, run, true)), 'Running on 1 of 1 host', false],
    ['one of no host', ofHosts(), 'Has not run yet', false],
    ['one that is listed only', { ...head, managed: false }, 'Listed only', false],
  ])('%s', (_name, job, label, failing) => {
    expect(standingOf(job)).toMatchObject({ label, failing });
  });

  test('takes the newest run and the earliest next one of all hosts', () => {
    const later = { ...run, id: 'later', finished_at: '2026-06-02T09:00:00.000Z' };
    expect(standingOf(ofHosts(target(2, run), target(1, later), target(3, null)))).toMatchObject({
      lastRun: { id: 'later' },
      nextRunAt: '2026-06-03T01:00:00.000Z',
    });
  });
});

test.each([
  [{ error: 'no space left', summary: { deleted: 1 } }, 'no space left'],
  [{ error: null, summary: { reason: 'live sessions' } }, 'live sessions'],
  [{ error: null, summary: { deleted: 2, kept: 0 } }, '2 deleted · 0 kept'],
  [{ error: null, summary: {} }, ''],
])('a run that says %j: %s', (run, label) => {
  expect(resultLabel(run)).toBe(label);
});
