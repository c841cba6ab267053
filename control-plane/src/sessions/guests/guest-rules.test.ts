import { sessionStates } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { judgeShare, MAX_LINKS_IN_ALL, planPlace } from './guest-rules.ts';

const alice = { userId: 'alice', role: 'user' } as const;
const session = { user_id: 'alice', video_topology: 'stream_only', state: 'running' } as const;

describe('a session is shared', () => {
  test.each([
    ['by its owner', alice, session, null],
    ['by no other person', { ...alice, userId: 'bob' }, session, 'forbidden'],
    ['by no administrator who does not own it', { userId: 'admin', role: 'admin' }, session, 'forbidden'],
    ['unknown to a person', alice, undefined, 'forbidden'],
    [
      'never when only a display attached to its host shows it',
      alice,
      { ...session, video_topology: 'local_only' },
      'conflict',
    ],
  ] as const)('%s', (_, caller, found, code) => {
    expect(judgeShare(caller, found)?.code ?? null).toBe(code);
  });

  test.each(sessionStates)('in state %s', (state) => {
    const code = state === 'running' ? null : 'session_not_running';
    expect(judgeShare(alice, { ...session, state })?.code ?? null).toBe(code);
    expect(judgeShare({ ...alice, userId: 'bob' }, { ...session, state })?.code).toBe('forbidden');
  });
});

describe('the place of a guest', () => {
  const at = (slot: number, pad_index: number | null = null) => ({ slot, pad_index });

  test.each([
    ['the first slot', 'watch', [], at(1)],
    ['the slot of a guest who ended', 'full', [at(1), at(3)], at(2)],
    ['not the gamepad of the owner', 'gamepad', [], at(1, 1)],
    ['the next gamepad', 'gamepad', [at(1, 1)], at(2, 2)],
    ['the gamepad of the owner last', 'gamepad', [at(1, 1), at(2, 2), at(3, 3)], at(4, 0)],
  ] as const)('%s', (_, role, used, place) => {
    expect(planPlace(role, used, used.length)).toEqual(place);
  });

  test('four guests at once, and a limit of links in all', () => {
    const refused = { refusal: { code: 'too_many_guests' } };
    expect(planPlace('watch', [at(1), at(2), at(3), at(4)], 4)).toEqual(refused);
    expect(planPlace('watch', [], MAX_LINKS_IN_ALL)).toEqual(refused);
  });
});
