import { randomUUID } from 'node:crypto';
import { isTerminal, reservesSlots, type SessionStateName, sessionStates } from '@footlight/protocol';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addSession, describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';
import { LiveSessions } from './live.ts';
import { createTransitions } from './transitions.ts';

const S = 1_000;

type Reported = 'starting' | 'running' | 'stopping' | 'stopped' | 'failed';

/** For each stored state: the new state after each report of the session's own host. */
const REPORTS: Record<SessionStateName, Record<Reported, SessionStateName>> = {
  // No report applies to a session without a host.
  pending: {
    starting: 'pending',
    running: 'pending',
    stopping: 'pending',
    stopped: 'pending',
    failed: 'pending',
  },
  assigned: {
    starting: 'starting',
    running: 'running',
    stopping: 'stopping',
    stopped: 'stopped',
    failed: 'failed',
  },
  starting: {
    starting: 'starting',
    running: 'running',
    stopping: 'stopping',
    stopped: 'stopped',
    failed: 'failed',
  },
  running: {
    starting: 'running',
    running: 'running',
    stopping: 'stopping',
    stopped: 'stopped',
    failed: 'failed',
  },
  stopping: {
    starting: 'stopping',
    running: 'stopping',
    stopping: 'stopping',
    stopped: 'stopped',
    failed: 'stopped',
  },
  stopped: {
    starting: 'stopped',
    running: 'stopped',
    stopping: 'stopped',
    stopped: 'stopped',
    failed: 'stopped',
  },
  failed: { starting: 'failed', running: 'failed', stopping: 'failed', stopped: 'failed', failed: 'failed' },
};

const rows = Object.entries(REPORTS).flatMap(([from, to]) =>
  Object.entries(to).map(
    ([report, state]) => [from, report, state] as [SessionStateName, Reported, SessionStateName],
  ),
);

describeDatabases('the session machine, row by row', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let app: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta', slots(8));
    app = await world.app();
  });
  beforeEach(() => {
    agent.behaviour.answer = ({ type }) => (type === 'session_stop' ? 'silence' : 'ok');
  });
  afterEach(async () => {
    agent.sessions.clear();
    await db().deleteFrom('sessions').execute();
    await db().updateTable('gpus').set({ slots_used: 0, sessions_active: 0 }).execute();
  });
  afterAll(() => world.close());

  const db = () => world.plane.platform.database.db;
  const row = (id: string) =>
    db().selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const stops = (id: string) =>
    agent.commands
      .filter((command) => command.type === 'session_stop')
      .filter(({ session_id }) => session_id === id);
  const failures = async (id: string) =>
    (await world.activity('session.failed')).filter(({ target_id }) => target_id === id);

  /** Creates a session of alice in this state, with its booked slot. */
  async function inState(state: SessionStateName): Promise<string> {
    const id = await addSession(world, {
      appId: app,
      userId: world.people.alice.id,
      state,
      ...(state !== 'pending' && { hostId: agent.hostId as string }),
      ...((state === 'running' || state === 'stopping') && { startedAtMs: world.clock.nowMs() }),
      ...(isTerminal(state) && { endedAtMs: world.clock.nowMs() }),
    });
    if (state === 'pending') return id;
    const gpu = await db()
      .selectFrom('gpus')
      .select('id')
      .where('host_id', '=', agent.hostId as string)
      .executeTakeFirstOrThrow();
    await db().updateTable('sessions').set({ gpu_id: gpu.id }).where('id', '=', id).execute();
    if (reservesSlots(state))
      await db().updateTable('gpus').set({ slots_used: 1, sessions_active: 1 }).execute();
    return id;
  }

  /**
   * Waits until everything that the host reported is handled. An end is confirmed at once, together with all earlier
   * reports.
   */
  async function handled(): Promise<void> {
    agent.reportState(randomUUID(), 'stopped');
    await eventually('the reports were handled', () => (agent.unseen === 0 ? true : undefined));
  }

  describe('a report of the host', () => {
    test.each(rows)('%s + %s → %s', async (from, report, to) => {
      const id = await inState(from);
      agent.reportState(id, report, { error: 'it broke' });
      await handled();
      const now = await row(id);
      expect(now.state).toBe(to);
      expect(now.started_at !== null).toBe(to === 'running' || from === 'running' || from === 'stopping');
      expect(now.ended_at !== null).toBe(isTerminal(to));
      expect(now.error_message).toBe(to === 'failed' && from !== to ? 'it broke' : null);
      expect(await world.slotsUsed(agent)).toBe(reservesSlots(to) ? 1 : 0);
      expect(await failures(id)).toHaveLength(to === 'failed' && from !== to ? 1 : 0);
    });

    test.each(['assigned', 'paused', ''])('"%s" is no state that a host may report', async (state) => {
      const id = await inState('starting');
      agent.sendRaw(JSON.stringify({ type: 'session_state', seq: 0, session_id: id, ts: 1, state }));
      await handled();
      expect((await row(id)).state).toBe('starting');
    });

    test('a state that is reached again keeps its first start', async () => {
      const id = await inState('running');
      const { started_at } = await row(id);
      await world.clock.pass(1 * S);
      agent.reportState(id, 'running', { detail: 'app presented' });
      await handled();
      expect(await row(id)).toMatchObject({ started_at, state_detail: 'app presented' });
    });

    test('about an end that was decided here fills missing fields, once, and only from its own host', async () => {
      const stranger = await world.host('hostb');
      const id = await inState('failed');
      const late = {
        failure_code: 'app_crashed' as const,
        app_log_tail: 'last words',
        home_bytes: 7,
        reason: 'app_exited' as const,
      };
      stranger.reportState(id, 'failed', { ...late, failure_code: 'internal' });
      await eventually('the stranger was heard', () => (stranger.unseen === 0 ? true : undefined));
      expect(await row(id)).toMatchObject({ failure_code: null, app_log_tail: null, end_reason: null });
      agent.reportState(id, 'failed', late);
      agent.reportState(id, 'failed', {
        failure_code: 'internal',
        app_log_tail: 'y',
        home_bytes: 8,
        reason: 'orphaned',
      });
      await handled();
      const { reason, ...fields } = late;
      expect(await row(id)).toMatchObject({ state: 'failed', end_reason: reason, ...fields });
      await stranger.drop();
    });
  });

  describe('DELETE', () => {
    test.each([
      ['pending', 202, 'stopped', 0],
      ['assigned', 202, 'stopping', 1],
      ['starting', 202, 'stopping', 1],
      ['running', 202, 'stopping', 1],
      ['stopping', 202, 'stopping', 1],
      ['stopped', 200, 'stopped', 0],
      ['failed', 200, 'failed', 0],
    ] as const)('%s: %i %s, and session_stop %i times', async (from, status, to, times) => {
      const id = await inState(from);
      const answer = await world.call(world.people.alice, 'DELETE', `/v1/sessions/${id}`);
      expect([answer.status, answer.body.session.state]).toEqual([status, to]);
      await expect.poll(() => stops(id).length).toBe(times);
      if (to === 'stopping' && from !== to) expect(answer.body.session.state_detail).toBe('stop requested');
      expect(await world.slotsUsed(agent)).toBe(reservesSlots(to) ? 1 : 0);
      expect(await failures(id)).toEqual([]);
    });
  });

  test('an end by the control plane decides once about a session that has already ended', async () => {
    const transitions = createTransitions(world.plane.platform, new LiveSessions(), {
      launches: { changed: () => undefined },
      onFailed: () => undefined,
    });
    const id = await inState('stopped');
    let decisions = 0;
    const count = async () => {
      decisions += 1;
    };
    const end = { cause: 'host_lost', error: 'gone', failure_code: null } as const;
    expect(await transitions.end(id, end, sessionStates, count)).toBe(false);
    expect(decisions).toBe(1);
    expect((await row(id)).state).toBe('stopped');
  });

  describe('no more reports arrive', () => {
    test.each([
      ['pending', 60, 'failed', 'assign timed out', []],
      ['assigned', 120, 'failed', 'assign timed out', ['start_timed_out']],
      ['starting', 120, 'failed', 'start timed out', ['start_timed_out']],
      ['stopping', 120, 'stopped', 'stop timed out', []],
    ] as const)('%s over %i s: %s, "%s"', async (from, limit, to, state_detail, reasons) => {
      // The time limits start again with a registration.
      await agent.drop();
      await world.reconnect(agent);
      const id = await inState(from);
      if (from !== 'pending') agent.hold({ session_id: id, app_id: app, state: from });
      await world.pass((limit - 5) * S, agent);
      // A session without a host is not affected by the registration.
      if (from !== 'pending') expect((await row(id)).state).toBe(from);
      await world.pass(35 * S, agent);
      const now = await world.until(id, to);
      expect(now.state_detail).toBe(state_detail);
      expect(now.error_message === null).toBe(to === 'stopped');
      // A host that still lists the session also gets stops with the reason unknown_session.
      const told = () => stops(id).flatMap(({ reason }) => (reason === 'unknown_session' ? [] : [reason]));
      await expect.poll(told).toEqual(reasons);
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('running has no limit', async () => {
      const id = await inState('running');
      agent.hold({ session_id: id, app_id: app });
      await world.pass(1_000 * S, agent);
      expect((await row(id)).state).toBe('running');
    });
  });

  describe('the host registers again', () => {
    async function registersWith(held: { session_id: string; state: 'running' }[]): Promise<void> {
      agent.sessions.clear();
      for (const one of held) agent.hold({ ...one, app_id: app });
      await agent.drop();
      await world.reconnect(agent);
    }

    test.each(['stopped', 'failed'] as const)('%s here, running there: it is told to stop', async (state) => {
      const id = await inState(state);
      await registersWith([{ session_id: id, state: 'running' }]);
      await expect.poll(() => stops(id)).toMatchObject([{ reason: 'unknown_session' }]);
      expect((await row(id)).state).toBe(state);
    });

    test('unknown here, running there: it is told to stop', async () => {
      const id = randomUUID();
      await registersWith([{ session_id: id, state: 'running' }]);
      await expect.poll(() => stops(id)).toMatchObject([{ reason: 'unknown_session' }]);
    });

    test.each(['assigned', 'starting'] as const)(
      "%s here, running there: the host's state wins",
      async (state) => {
        const id = await inState(state);
        await registersWith([{ session_id: id, state: 'running' }]);
        expect(await row(id)).toMatchObject({ state: 'running', state_detail: 'host_reconnected' });
        expect(await world.slotsUsed(agent)).toBe(1);
      },
    );

    test.each([
      ['assigned', 'failed', 'session not present after the agent reconnected'],
      ['starting', 'failed', 'session not present after the agent reconnected'],
      ['running', 'failed', 'session not present after the agent reconnected'],
      ['stopping', 'stopped', null],
    ] as const)('%s here, not listed there: %s, "host_lost"', async (from, to, error_message) => {
      const id = await inState(from);
      await registersWith([]);
      expect(await row(id)).toMatchObject({
        state: to,
        state_detail: 'host_lost',
        error_message,
        failure_code: null,
      });
      expect(await world.slotsUsed(agent)).toBe(0);
    });
  });
});
