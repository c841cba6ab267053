import type { SessionStateName } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { observedFor } from '../replicas/subjects.ts';
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

describe('an observation of another replica', () => {
  const metrics = { ts: 1, metrics: {} };
  test.each([
    ['with a sample that has no idle time: the idle time is unknown', { metrics }, undefined],
    ['with a sample that has an idle time', { metrics, idle_ends_at: 7 }, 7],
    ['without a sample: the idle time is unchanged', { display: { width: 640 } }, 5],
  ])('%s', (_what, observed, idleEndsAt) => {
    const live = new LiveSessions();
    const session = live.track({ id: 'a', host_id: 'h', state: 'running' }, 0)!;
    session.observed = { idle_ends_at: 5 };
    live.observedElsewhere(session, observed, 0);
    expect(session.observed.idle_ends_at).toBe(idleEndsAt);
  });

  test('continues the count at the floor with the age of the last sample', () => {
    const atFloor = { sampledAt: 1_000, forMs: 90_000, watchedMs: 60_000 };
    const network = { state: 'abr_at_floor', reason: 'slow', atFloor } as const;
    const live = new LiveSessions();
    const session = live.track({ id: 'a', host_id: 'h', state: 'running' }, 0)!;
    // The clocks of two processes differ.
    live.observedElsewhere(session, observedFor({ network }, 3_000), 500_000);
    expect(session.observed.network).toEqual({ ...network, atFloor: { ...atFloor, sampledAt: 498_000 } });
  });
});
