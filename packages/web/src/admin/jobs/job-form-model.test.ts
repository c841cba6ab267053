import { type Job, operations } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { changesOf } from '../frame/changes.ts';
import { intervalProblem, jobBody, jobValues, timeProblem } from './job-form-model.ts';

const job = operations['admin.jobs.read'].example.response as Job;
const changed = (change: Partial<ReturnType<typeof jobValues>>, of = job) =>
  changesOf(jobBody(jobValues(of), of), jobBody({ ...jobValues(of), ...change }, of));

describe('the form of a job', () => {
  test('sends nothing that was not changed', () => {
    expect(changed({})).toEqual({});
  });

  test('sends an interval in seconds', () => {
    expect(changed({ count: 90, unit: 'minutes' })).toEqual({ interval_secs: 5_400 });
  });

  test('sends both ends of a window, or neither', () => {
    expect(changed({ windowed: false })).toEqual({ window_start: null, window_end: null });
    const open = { ...job, schedule: { ...job.schedule, window_start: null, window_end: null } };
    expect(changed({ windowed: true, start: '22:00', days: ['6', '0'] }, open)).toEqual({
      window_start: '22:00',
      window_end: '05:00',
      window_days: [0, 6],
    });
  });

  test('sends no interval if the environment sets it or the job has none', () => {
    const locked = { ...job, schedule: { ...job.schedule, locked: true } };
    expect(changed({ count: 1, unit: 'days' }, locked)).toEqual({});
    const event = { ...job, schedule: { ...job.schedule, kind: 'event' as const, interval_secs: null } };
    expect(changed({ enabled: false, windowed: false }, event)).toEqual({ enabled: false });
  });

  test.each([
    [1, 'minutes', null],
    [59, 'seconds', 'At least one minute'],
    [0, 'days', 'At least one minute'],
    ['', 'hours', 'A whole number'],
    [1.5, 'hours', 'A whole number'],
  ] as const)('%s %s: %s', (count, unit, problem) => {
    expect(intervalProblem(count, unit)).toBe(problem);
  });

  test.each([
    ['03:00', null],
    ['23:59:59', null],
    ['24:00', 'A time such as 03:00'],
    ['', 'A time such as 03:00'],
  ])('the time %s: %s', (time, problem) => {
    expect(timeProblem(time)).toBe(problem);
  });
});
