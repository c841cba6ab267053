import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { jobRunState } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import {
  decideRunReport,
  judgeClaim,
  planFollowing,
  type RunOfHost,
  retryDelayMs,
  selectRuns,
} from './run-life.ts';
import type { Window } from './schedule.ts';

const NOW = Date.parse('2026-06-02T12:00:00Z');
const run = (more: Partial<Parameters<typeof planFollowing>[0]> = {}) => ({
  ...{ trigger: 'schedule' as const, attempt: 1, actor_user_id: null, params: '{"a":1}', rerun: 0 as const },
  ...more,
});
/** A window that opens three hours from now. */
const LATER: Window = { startSecs: 15 * 3_600, endSecs: 16 * 3_600, days: [], zone: 'UTC' };

describe('a report', () => {
  test.each([
    ['pending', 'refuse'],
    ['running', 'close'],
    ['succeeded', 'no_op'],
    ['failed', 'no_op'],
    ['deferred', 'no_op'],
    ['skipped', 'no_op'],
    ['aborted', 'no_op'],
  ] as const)('of a run that is %s: %s', (state, step) => {
    expect(decideRunReport(state)).toBe(step);
  });

  test('is decided for every state', () => {
    expect(jobRunState.options.map(decideRunReport)).not.toContain(undefined);
  });
});

describe('what follows a run', () => {
  test.each(['succeeded', 'failed', 'skipped', 'aborted'] as const)('that is %s: nothing', (outcome) => {
    expect(planFollowing(run(), outcome, LATER, NOW)).toBeNull();
  });

  test.each(['succeeded', 'failed', 'skipped', 'aborted'] as const)(
    'that is %s after an event came: one more, at once',
    (outcome) => {
      const met = run({ trigger: 'manual', attempt: 3, actor_user_id: 'ada', rerun: 1 });
      expect(planFollowing(met, outcome, null, NOW)).toEqual({
        ...{ trigger: 'event', attempt: 1, actor_user_id: null, params: '{"a":1}' },
        scheduled_for: NOW,
      });
      expect(planFollowing(met, outcome, LATER, NOW)?.scheduled_for).toBe(NOW + 180 * MINUTE_MS);
    },
  );

  test('that is deferred: the next attempt, with the same trigger and parameters', () => {
    expect(planFollowing(run({ attempt: 2 }), 'deferred', null, NOW)).toEqual({
      ...{ trigger: 'schedule', attempt: 3, actor_user_id: null, params: '{"a":1}' },
      scheduled_for: NOW + 60 * SECOND_MS,
    });
  });

  test('that is deferred waits for the window, unless a person started it', () => {
    expect(planFollowing(run(), 'deferred', LATER, NOW)?.scheduled_for).toBe(NOW + 180 * MINUTE_MS);
    const byHand = run({ trigger: 'manual', actor_user_id: 'ada' });
    expect(planFollowing(byHand, 'deferred', LATER, NOW)).toMatchObject({
      ...{ trigger: 'manual', actor_user_id: 'ada', attempt: 2 },
      scheduled_for: NOW + 30 * SECOND_MS,
    });
  });

  test('that is deferred after an event came: the retry alone', () => {
    expect(planFollowing(run({ rerun: 1 }), 'deferred', null, NOW)).toMatchObject({ attempt: 2 });
  });

  test.each([
    [1, 30],
    [2, 60],
    [3, 120],
    [5, 480],
    [6, 900],
    [7, 900],
    [1_000_000, 900],
  ])('attempt %d is tried again after %d s', (attempt, secs) => {
    expect(retryDelayMs(attempt)).toBe(secs * SECOND_MS);
  });
});

describe('a claim', () => {
  const judge = (claimed_at: number | null, fence: number | null, isExecuting: boolean) =>
    judgeClaim({ claimed_at, fence }, { isExecuting, timeoutMs: MINUTE_MS, nowMs: NOW });

  test.each([
    ['of an agent in time', NOW - MINUTE_MS, null, false, null],
    ['of an agent, too old', NOW - MINUTE_MS - 1, null, false, 'timed_out'],
    ['of an agent, by a clock that was ahead', NOW + MINUTE_MS + 1, null, false, 'timed_out'],
    ['of this dispatcher', NOW, 7, true, null],
    ['of this dispatcher, too old', NOW - MINUTE_MS - 1, 7, true, 'timed_out'],
    ['of another dispatcher', NOW, 6, false, 'dispatcher_gone'],
  ])('%s', (_, claimedAt, fence, isExecuting, expected) => {
    expect(judge(claimedAt, fence, isExecuting)).toBe(expected);
  });
});

describe('what a poll gets', () => {
  const open = (id: string, more: Partial<RunOfHost> = {}): RunOfHost => ({
    ...{ id, job_id: 'home.gc', params: '{}', state: 'pending', scheduled_for: NOW },
    ...{ claimed_at: null, claimed_boot: null, enabled: 1 },
    ...more,
  });
  const claimed = (id: string, agoMs: number, boot: string | null = 'boot') =>
    open(id, { state: 'running', claimed_at: NOW - agoMs, claimed_boot: boot });
  const ids = (runs: RunOfHost[], boot: string | null = 'boot') => {
    const { due, again } = selectRuns(runs, boot, NOW);
    return [due.map(({ id }) => id), again.map(({ id }) => id)];
  };

  test('five due runs, the longest due first', () => {
    const runs = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, n) => open(id, { scheduled_for: NOW - n }));
    expect(ids(runs)).toEqual([['f', 'e', 'd', 'c', 'b'], []]);
  });

  test('none that is due later, or whose job is switched off', () => {
    expect(ids([open('a', { scheduled_for: NOW + 1 }), open('b', { enabled: 0 })])).toEqual([[], []]);
  });

  test('what the same process claimed over a minute ago', () => {
    const runs = [claimed('a', MINUTE_MS + 1), claimed('b', MINUTE_MS), claimed('c', MINUTE_MS + 1, 'other')];
    expect(ids(runs)).toEqual([[], ['a']]);
    expect(ids([claimed('a', MINUTE_MS + 1, null)], null)).toEqual([[], []]);
  });
});
