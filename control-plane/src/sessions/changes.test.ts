import { expect, test } from 'vitest';
import { recordsSince } from './changes.ts';
import { RUNNING } from './testing/running-session.ts';

const STARTING = {
  ...RUNNING,
  state: 'starting',
  state_detail: 'starting display',
  started_at: null,
} as const;
const FAILED = {
  ...RUNNING,
  state: 'failed',
  state_detail: 'it broke',
  error_message: 'it broke',
  failure_code: 'app_crashed',
  end_reason: 'app_crashed',
  app_log_tail: 'last words',
  ended_at: '2026-01-01T00:00:09.000Z',
} as const;

test('the first record is the one that was read, for any earlier changes', () => {
  expect(recordsSince(null, [{ state: 'starting', state_detail: 'starting app' }], RUNNING)).toEqual([
    RUNNING,
  ]);
});

test('each change has its record, without the effects of a later one', () => {
  const changes = [
    { state: 'starting', state_detail: 'starting app' },
    { state: 'running' },
    { state: 'running', state_detail: 'swapping' },
    { state: 'running', state_detail: 'swap complete', app_id: 'another' },
    { observed: { app_launch_state: 'game_running', health_state: 'network_degrading' } },
    { state: 'failed', state_detail: 'it broke' },
    { state: 'failed' },
  ] as const;
  const ended = { ...FAILED, app_id: 'another', health_state: 'failed' } as const;
  const alive = { ...RUNNING, state_detail: 'starting app' };
  expect(recordsSince(STARTING, changes, ended)).toEqual([
    { ...alive, state: 'starting', started_at: null },
    alive,
    { ...alive, state_detail: 'swapping' },
    { ...alive, state_detail: 'swap complete', app_id: 'another' },
    {
      ...alive,
      state_detail: 'swap complete',
      app_id: 'another',
      app_launch_state: 'game_running',
      health_state: 'network_degrading',
    },
    ended,
  ]);
});

test('a record that is newer than the announced changes follows them', () => {
  const [first, ...rest] = recordsSince(STARTING, [{ state: 'running' }], FAILED);
  expect(first).toMatchObject({ state: 'running', state_detail: 'starting display', ended_at: null });
  expect(rest).toEqual([FAILED]);
});

test('a change that was sent already is not sent again, and no state moves back', () => {
  expect(recordsSince(RUNNING, [{ state: 'starting', state_detail: 'starting app' }], RUNNING)).toEqual([
    RUNNING,
  ]);
  expect(recordsSince(RUNNING, [{ state: 'running', state_detail: 'app presented' }], RUNNING)).toEqual([
    RUNNING,
  ]);
  expect(recordsSince(FAILED, [{ state: 'running' }, { state: 'stopping' }], FAILED)).toEqual([FAILED]);
});

test('a change of anything else is the record as it is now', () => {
  const changed = { ...RUNNING, negotiated_codec: 'h264' } as const;
  expect(recordsSince(RUNNING, [{}], changed)).toEqual([changed]);
});
