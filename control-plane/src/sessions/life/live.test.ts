import type { SessionStateName } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { LiveSessions } from './live.ts';

describe('the check of the start deadline', () => {
  const watched = () => {
    const live = new LiveSessions();
    const to = (state: SessionStateName) => live.track({ id: 'a', host_id: 'h', state }, 0);
    const cancelled = { times: 0 };
    const session = to('assigned');
    if (session === undefined) throw new Error('an assigned session is live');
    session.startWatch = { cancel: () => cancelled.times++ };
    return { to, cancelled };
  };

  test('goes on while it starts', () => {
    const { to, cancelled } = watched();
    to('starting');
    expect(cancelled.times).toBe(0);
  });

  test.each(['running', 'stopping', 'stopped', 'failed'] as const)(
    'is not kept for one that is %s',
    (state) => {
      const { to, cancelled } = watched();
      to(state);
      expect(cancelled.times).toBe(1);
    },
  );
});
