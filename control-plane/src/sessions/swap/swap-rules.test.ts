import type { SessionStateName } from '@footlight/protocol';
import type { SessionState } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { decideHeldSwap, decideSwap, type SwapFacts } from './swap-rules.ts';

describe('the result of a swap in a report', () => {
  const facts = (state: SessionStateName, swap_app_id: string | null = 'new'): SwapFacts => ({
    state,
    swap_app_id,
    swap_home_app_id: 'home',
  });
  const report = (swap: SessionState['swap']) => ({ state: 'running' as const, swap });

  test('complete: the new app and its home, "swap complete"', () => {
    expect(decideSwap(facts('running'), report({ app_id: 'new', result: 'complete' }))).toEqual({
      kind: 'swap',
      target: 'new',
      app: { app_id: 'new', home_app_id: 'home' },
      may_complete: false,
      state_detail: 'swap complete',
    });
  });

  test.each([
    ['no window', 'swap rolled back: no window'],
    [undefined, 'swap rolled back'],
  ])('rolled back with %s: the old app stays', (error, state_detail) => {
    const step = decideSwap(facts('running'), report({ app_id: 'new', result: 'rolled_back', error }));
    expect(step).toMatchObject({ kind: 'swap', app: null, state_detail });
  });

  test.each([
    ['another app than the one asked for', facts('running'), 'other'],
    ['none was asked for', facts('running', null), 'new'],
    ['the session is stopping', facts('stopping'), 'new'],
    ['it has not run yet', facts('starting'), 'new'],
  ] as const)('%s: no app changes', (_what, row, app_id) => {
    expect(decideSwap(row, report({ app_id, result: 'complete' }))).toBeNull();
  });
});

describe('the result of a swap in a registration', () => {
  const row = (swap_state: 'asked' | 'taken' | null, state: SessionStateName = 'running') => ({
    state,
    swap_app_id: 'new',
    swap_home_app_id: null,
    swap_state,
  });
  test.each([
    ['the new app runs', row('asked'), 'new', 'swap complete'],
    ['the new app runs though it counts as rejected', row(null), 'new', 'swap complete'],
    ['the old app runs, and the host never answered', row('asked'), 'old', 'swap rejected'],
    ['the old app runs, and the host is still changing it', row('taken'), 'old', null],
    ['the old app runs, and it was rejected', row(null), 'old', null],
    ['the session is stopping', row('asked', 'stopping'), 'new', null],
  ] as const)('%s', (_what, facts_, heldApp, detail) => {
    expect(decideHeldSwap(facts_, heldApp)?.state_detail ?? null).toBe(detail);
  });
});
