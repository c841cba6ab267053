import { type SessionStateName, sessionStates } from '@footlight/protocol';
import type { HeldSession } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { planReconciliation, type Reconciled, type StoredSession } from './reconcile.ts';

const HOST = 'host-a';
const held = (state: HeldSession['state'], more: Partial<HeldSession> = {}): HeldSession => ({
  session_id: 's1',
  state,
  app_id: 'app',
  started_at: null,
  viewer: false,
  ...more,
});
const stored = (state: SessionStateName, host_id: string | null = HOST): StoredSession => ({
  id: 's1',
  host_id,
  state,
  state_detail: null,
  end_reason: null,
  stop_reason: state === 'stopping' ? 'user_requested' : null,
  failure_code: null,
  app_log_tail: null,
  home_bytes: null,
  swap_app_id: null,
  swap_home_app_id: null,
  swap_state: null,
});
const plan = (row: StoredSession | null, there: HeldSession | null, sameBoot = true): Reconciled[] =>
  planReconciliation(HOST, row === null ? [] : [row], there === null ? [] : [there], sameBoot);

const LIVE_ROWS = ['assigned', 'starting', 'running'] as const;
const LIVE_THERE = ['assigned', 'starting', 'running', 'stopping'] as const;

describe('stored and listed', () => {
  test.each(LIVE_ROWS.flatMap((row) => LIVE_THERE.map((there) => [row, there] as const)))(
    '%s here, %s there: kept',
    (row, there) => {
      expect(plan(stored(row), held(there))).toMatchObject([{ kind: 'kept', session_id: 's1' }]);
    },
  );

  test.each([
    ['assigned', 'session_start'],
    ['starting', 'session_start'],
    ['running', null],
  ] as const)('%s here, prepared there: %s is sent again', (row, command) => {
    expect(plan(stored(row), held('assigned'))).toMatchObject([{ kind: 'kept', command }]);
  });

  test("the agent's state wins where the machine allows it", () => {
    expect(plan(stored('assigned'), held('running'))).toMatchObject([
      { step: { kind: 'move', to: 'running' } },
    ]);
    expect(plan(stored('running'), held('starting'))).toMatchObject([{ step: { kind: 'ignore' } }]);
  });

  test.each(LIVE_THERE)('stopping here, %s there: session_stop is sent again', (there) => {
    expect(plan(stored('stopping'), held(there))).toMatchObject([
      { kind: 'kept', step: { kind: 'ignore' }, command: 'session_stop' },
    ]);
  });

  test.each(['assigned', 'starting', 'running'] as const)(
    '%s here, failed there: applied like a report',
    (row) => {
      const there = held('failed', { error: 'crashed', failure_code: 'app_crashed' });
      expect(plan(stored(row), there)).toMatchObject([
        {
          kind: 'ended_there',
          step: {
            kind: 'end',
            ending: { to: 'failed', error_message: 'crashed', failure_code: 'app_crashed' },
          },
        },
      ]);
    },
  );

  test('stopping here, failed there: a stop', () => {
    expect(plan(stored('stopping'), held('failed'))).toMatchObject([{ step: { ending: { to: 'stopped' } } }]);
  });

  test.each(['stopped', 'failed'] as const)('%s here, live there: it must stop', (row) => {
    for (const there of LIVE_THERE)
      expect(plan(stored(row), held(there))).toEqual([{ kind: 'stop_unknown', session_id: 's1' }]);
  });

  test.each(['stopped', 'failed'] as const)('%s here, ended there: the state stays', (row) => {
    expect(plan(stored(row), held('failed'))).toEqual([{ kind: 'nothing', session_id: 's1' }]);
  });
});

describe('stored and not listed', () => {
  test.each(['pending', 'assigned', 'starting', 'running', 'stopping'] as const)('%s: lost', (row) => {
    expect(plan(stored(row), null)).toEqual([
      {
        kind: 'lost',
        session_id: 's1',
        end: {
          cause: 'host_lost',
          error: 'session not present after the agent reconnected',
          failure_code: null,
        },
      },
    ]);
  });

  test('another agent process leaves its code', () => {
    expect(plan(stored('running'), null, false)).toMatchObject([
      { end: { failure_code: 'agent_restarted' } },
    ]);
  });

  test.each(['stopped', 'failed'] as const)('%s: nothing', (row) => {
    expect(plan(stored(row), null)).toEqual([]);
  });
});

describe('listed and not ours', () => {
  test.each(LIVE_THERE)('unknown and %s: it must stop', (there) => {
    expect(plan(null, held(there))).toEqual([{ kind: 'stop_unknown', session_id: 's1' }]);
  });

  test.each(['stopped', 'failed'] as const)('unknown and %s: nothing', (there) => {
    expect(plan(null, held(there))).toEqual([{ kind: 'nothing', session_id: 's1' }]);
  });

  test("another host's session moves nothing, whatever is listed", () => {
    for (const state of sessionStates) {
      expect(plan(stored(state, 'host-b'), held('running'))).toEqual([
        { kind: 'stop_unknown', session_id: 's1' },
      ]);
      expect(plan(stored(state, 'host-b'), held('failed'))).toEqual([{ kind: 'nothing', session_id: 's1' }]);
    }
  });
});

test('an id that is listed twice counts once', () => {
  expect(planReconciliation(HOST, [stored('running')], [held('failed'), held('running')], true)).toHaveLength(
    1,
  );
});
