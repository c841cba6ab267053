import { sessionStates } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { judgeJoin, judgeRead } from './join-rules.ts';

const alice = { userId: 'alice', role: 'user' } as const;
const bob = { userId: 'bob', role: 'user' } as const;
const admin = { userId: 'admin', role: 'admin' } as const;
const session = { user_id: 'alice', video_topology: 'stream_only', state: 'running' } as const;

describe('a session is read and stopped', () => {
  test.each([
    ['by its owner', alice, session, null],
    ['by an administrator', admin, session, null],
    ['by no other person', bob, session, 'forbidden'],
    ['unknown ones look to a person like those of others', alice, undefined, 'forbidden'],
    ['unknown ones are named to administrators', admin, undefined, 'not_found'],
  ] as const)('%s', (_, caller, found, code) => {
    expect(judgeRead(caller, found)?.code ?? null).toBe(code);
  });
});

describe('a session is watched', () => {
  test.each([
    ['by its owner', alice, session, null],
    ['by an administrator who owns it', admin, { ...session, user_id: 'admin' }, null],
    ['by no administrator who does not', admin, session, 'forbidden'],
    ['by no other person', bob, session, 'forbidden'],
    ['unknown to a person', alice, undefined, 'forbidden'],
    ['unknown to an administrator', admin, undefined, 'not_found'],
    [
      'never when only a display attached to its host shows it',
      alice,
      { ...session, video_topology: 'local_only' },
      'conflict',
    ],
    ['when it is also streamed', alice, { ...session, video_topology: 'dual_output' }, null],
  ] as const)('%s', (_, caller, found, code) => {
    expect(judgeJoin(caller, found)?.code ?? null).toBe(code);
  });

  test.each(sessionStates)('in state %s', (state) => {
    const joinable = ['assigned', 'starting', 'running'].includes(state);
    expect(judgeJoin(alice, { ...session, state })?.code ?? null).toBe(joinable ? null : 'conflict');
  });

  test('a person who does not own it does not learn its state', () => {
    expect(judgeJoin(bob, { ...session, state: 'stopped' })).toEqual(judgeJoin(bob, undefined));
  });
});
