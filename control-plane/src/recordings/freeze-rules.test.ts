import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeFreeze, MAX_OF_SESSION, mayHaveBegun, refusalOfHost, stateAt } from './freeze-rules.ts';
import type { RecordableSession } from './store.ts';

const NOW = 1_795_000_000_000;
const TEN_MINUTES = 600_000;

const session = (over: Partial<RecordableSession>): RecordableSession => ({
  id: 's',
  state: 'running',
  host_id: 'h',
  ended_at: null,
  stream_recording: 1,
  ...over,
});

describe('a session’s last minute can be kept', () => {
  test.each([
    ['running', {}, null],
    ['stopping', { state: 'stopping' }, null],
    ['failed just now', { state: 'failed', ended_at: NOW - TEN_MINUTES + 1 }, null],
    ['failed ten minutes ago', { state: 'failed', ended_at: NOW - TEN_MINUTES }, 'session_not_running'],
    ['failed at a time that is not known', { state: 'failed' }, 'session_not_running'],
    ['stopped', { state: 'stopped', ended_at: NOW - 1 }, 'session_not_running'],
    ['starting', { state: 'starting' }, 'session_not_running'],
    ['assigned', { state: 'assigned' }, 'session_not_running'],
    ['pending, on no host', { state: 'pending', host_id: null }, 'session_not_running'],
    ['running and not recorded', { stream_recording: 0 }, 'conflict'],
    ['stopped and not recorded', { state: 'stopped', stream_recording: 0 }, 'session_not_running'],
  ] as const)('%s', (_, over, code) => {
    expect(judgeFreeze(session(over), 0, NOW)?.code ?? null).toBe(code);
  });

  test(`until it has ${MAX_OF_SESSION} recordings`, () => {
    expect(judgeFreeze(session({}), MAX_OF_SESSION - 1, NOW)).toBeNull();
    expect(judgeFreeze(session({}), MAX_OF_SESSION, NOW)?.code).toBe('conflict');
  });
});

test.each([
  [{ kind: 'ok' }, null, true],
  [{ kind: 'timeout' }, 'agent_not_connected', true],
  [{ kind: 'not_connected', sent: true }, 'agent_not_connected', true],
  [{ kind: 'not_connected', sent: false }, 'agent_not_connected', false],
  [{ kind: 'refused', code: 'no_such_session', error: '' }, 'session_not_running', false],
  [{ kind: 'refused', code: 'no_such_recording', error: '' }, 'not_found', false],
  [{ kind: 'refused', code: 'unsupported', error: '' }, 'conflict', false],
  [{ kind: 'refused', code: 'busy', error: '' }, 'conflict', false],
  [{ kind: 'refused', code: 'unknown_command', error: '' }, 'agent_not_connected', false],
  [{ kind: 'refused', code: 'internal', error: '' }, 'conflict', false],
] as const)('%o of a host is %s; it may have begun: %s', (result, code, begun) => {
  expect(refusalOfHost(result)?.code ?? null).toBe(code);
  expect(mayHaveBegun(result)).toBe(begun);
});

test('only a pending recording becomes a failed one by age, after ten minutes', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('pending', 'ready', 'failed'),
      fc.integer({ min: 0, max: 3 * TEN_MINUTES }),
      (state, ageMs) => {
        const shown = stateAt({ state, created_at: NOW - ageMs, error: null }, NOW).state;
        expect(shown).toBe(state === 'pending' && ageMs >= TEN_MINUTES ? 'failed' : state);
      },
    ),
  );
});
