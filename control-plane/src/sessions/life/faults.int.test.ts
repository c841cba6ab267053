import { randomUUID } from 'node:crypto';
import type { Session } from '@footlight/protocol/rest';
import { FakeAgent as Agent, type Behaviour, type FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;

describeDatabases('faults', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const sent = (agent: FakeAgent, type: string, sessionId: string) =>
    agent.commands.filter(
      (command) => command.type === type && 'session_id' in command && command.session_id === sessionId,
    );
  const waitSent = (agent: FakeAgent, type: string, sessionId: string, count = 1) =>
    eventually(() => (sent(agent, type, sessionId).length >= count ? true : undefined), `${type} was sent`);
  /** A launch that got as far as the 201. */
  async function launched(appFields: Record<string, unknown> = {}): Promise<Session> {
    const answer = await world.launch(world.people.alice, await world.app(appFields));
    expect(answer.status).toBe(201);
    return answer.body.session;
  }
  const silentTo =
    (...types: string[]): Behaviour['answer'] =>
    (command) =>
      types.includes(command.type) ? 'silence' : 'ok';
  const shows = (id: string, detail: string) =>
    eventually(async () => ((await world.session(id)).state_detail === detail ? true : undefined), detail);
  const runTask = (task: string) => world.plane.platform.leader.runNow(task);

  describe('the host refuses', () => {
    test.each([
      ['session_assign', 'assign_refused'],
      ['session_start', 'start_refused'],
    ] as const)('%s: failed with its code and words', async (type, end_reason) => {
      const agent = await world.host('hosta', {
        behaviour: {
          answer: (command) =>
            command.type === type ? { code: 'encoder_unavailable', error: 'no such encoder' } : 'ok',
        },
      });
      const session = await launched();
      expect(await world.until(session.id, 'failed')).toMatchObject({
        failure_code: 'encoder_unavailable',
        error_message: 'no such encoder',
        end_reason,
      });
      expect(await world.slotsUsed(agent)).toBe(0);
      expect(await world.audit('session.failed')).toMatchObject([
        {
          actor_user_id: null,
          target_id: session.id,
          details: {
            reason_source: 'control_plane',
            host_id: agent.hostId,
            failure_code: 'encoder_unavailable',
            reason: 'no such encoder',
          },
        },
      ]);
    });

    test('session_stop: it stays stopping until the sweep ends it', async () => {
      const agent = await world.host('hosta', {
        behaviour: { answer: (c) => (c.type === 'session_stop' ? { code: 'internal' } : 'ok') },
      });
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      await waitSent(agent, 'session_stop', session.id);
      await world.pass(115 * S, agent);
      expect((await world.session(session.id)).state).toBe('stopping');
      await world.pass(40 * S, agent);
      expect(await world.until(session.id, 'stopped')).toMatchObject({
        state_detail: 'stop timed out',
        end_reason: 'user_requested',
      });
      expect(await world.slotsUsed(agent)).toBe(0);
    });
  });

  describe('the host stays silent', () => {
    test('no ack of the assignment within 10 s: failed, "assign timed out"', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_assign') } });
      const session = await launched();
      await waitSent(agent, 'session_assign', session.id);
      await world.pass(9 * S, agent);
      expect((await world.session(session.id)).state).toBe('assigned');
      await world.pass(1 * S, agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({ state_detail: 'assign timed out' });
      await waitSent(agent, 'session_stop', session.id);
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('no ack of the start within 10 s: failed, "start timed out", and it is told to stop', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_start') } });
      const session = await launched();
      await waitSent(agent, 'session_start', session.id);
      await world.pass(10 * S, agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({ state_detail: 'start timed out' });
      await waitSent(agent, 'session_stop', session.id);
      expect(sent(agent, 'session_stop', session.id)[0]).toMatchObject({ reason: 'start_timed_out' });
    });

    test('no ack of the stop within 10 s: logged, and it stays stopping', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      await waitSent(agent, 'session_stop', session.id);
      const logged = () =>
        world.log.some((line) => line.includes('session.stop_unconfirmed') && line.includes(session.id));
      await world.pass(9 * S, agent);
      expect(logged()).toBe(false);
      await world.pass(1 * S, agent);
      await expect.poll(logged).toBe(true);
      expect(await world.session(session.id)).toMatchObject({
        state: 'stopping',
        state_detail: 'stop requested',
      });
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test('acked and never running: failed 90 s after the last report', async () => {
      const agent = await world.host('hosta', {
        behaviour: { launch: [{ state: 'starting', detail: 'starting display' }] },
      });
      const session = await launched();
      await world.until(session.id, 'starting');
      await world.pass(60 * S, agent);
      agent.reportState(session.id, 'starting', { detail: 'starting app' });
      await shows(session.id, 'starting app');
      await world.pass(85 * S, agent);
      expect((await world.session(session.id)).state).toBe('starting');
      await world.pass(5 * S, agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({ state_detail: 'start timed out' });
      await waitSent(agent, 'session_stop', session.id);
    });

    test('a pull that reports every 10 s is waited for, 900 s in all', async () => {
      const agent = await world.host('hosta', { behaviour: { launch: [] } });
      const session = await launched();
      await waitSent(agent, 'session_start', session.id);
      for (let waited = 0; waited < 880 * S; waited += 40 * S) {
        const detail = `pulling image ${waited / (10 * S)} %`;
        agent.reportState(session.id, 'starting', { detail });
        await shows(session.id, detail);
        await world.pass(40 * S, agent);
      }
      expect((await world.session(session.id)).state).toBe('starting');
      agent.reportState(session.id, 'starting', { detail: 'pulling image 99 %' });
      await shows(session.id, 'pulling image 99 %');
      await world.pass(25 * S, agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({ state_detail: 'start timed out' });
    }, 60_000);

    test('a frozen host loses its link and nothing else; back, it goes on', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await world.pass(25 * S);
      await world.offline(agent);
      await shows(session.id, 'host_unreachable');
      expect((await world.session(session.id)).state).toBe('running');
      expect(await world.slotsUsed(agent)).toBe(1);
      await agent.closed;
      await world.reconnect(agent);
      expect(await world.session(session.id)).toMatchObject({
        state: 'running',
        state_detail: 'host_reconnected',
      });
    });
  });

  describe('the link breaks', () => {
    test('after the assignment was sent: the registration decides, and session_start is sent then', async () => {
      const agent = await world.host('hosta', {
        behaviour: { answer: silentTo('session_assign'), claim: (held) => held.map((one) => ({ ...one })) },
      });
      const session = await launched();
      await waitSent(agent, 'session_assign', session.id);
      await agent.drop();
      await world.offline(agent);
      expect((await world.session(session.id)).state).toBe('assigned');
      agent.behaviour.answer = () => 'ok';
      agent.hold({ session_id: session.id, app_id: session.app_id, state: 'assigned', started_at: null });
      await world.reconnect(agent);
      await world.until(session.id, 'running');
      expect(sent(agent, 'session_assign', session.id)).toHaveLength(1);
    });

    test('and the host never got it: failed at the registration', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_assign') } });
      const session = await launched();
      await waitSent(agent, 'session_assign', session.id);
      await agent.drop();
      await world.offline(agent);
      await world.reconnect(agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({
        state_detail: 'host_lost',
        error_message: 'session not present after the agent reconnected',
        failure_code: null,
      });
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('while starting: kept, and it goes on', async () => {
      const agent = await world.host('hosta', {
        behaviour: { launch: [{ state: 'starting', detail: 'starting app' }] },
      });
      const session = await launched();
      await world.until(session.id, 'starting');
      await agent.drop();
      await world.offline(agent);
      await world.reconnect(agent);
      expect((await world.session(session.id)).state).toBe('starting');
      agent.reportState(session.id, 'running');
      await world.until(session.id, 'running');
    });

    test('while stopping: session_stop is sent again', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      await waitSent(agent, 'session_stop', session.id);
      await agent.drop();
      await world.offline(agent);
      agent.behaviour.answer = () => 'ok';
      await world.reconnect(agent);
      expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'user_requested' });
    });

    test('a session of an unreachable host can be stopped; quota and home are free at once', async () => {
      const agent = await world.host('hosta');
      const app = await world.app({ managed_home: true });
      const session = await world.running(world.people.alice, app);
      await agent.drop();
      await world.offline(agent);
      expect((await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(202);
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('no_host_available');
      await world.reconnect(agent);
      await world.until(session.id, 'stopped');
      expect((await world.launch(world.people.alice, app)).status).toBe(201);
    });

    test('what ended meanwhile is applied with its error, and the queued report fills the rest', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await agent.drop();
      await world.offline(agent);
      agent.reportState(session.id, 'failed', {
        error: 'exit code 1',
        failure_code: 'app_crashed',
        app_log_tail: 'last words',
      });
      await world.reconnect(agent);
      const failed = await world.until(session.id, 'failed');
      await expect.poll(() => agent.unseen).toBe(0);
      expect(failed.host_id).toBe(agent.hostId);
      expect((await world.session(session.id)).app_log_tail).toBe('last words');
    });

    test('a newer connection of the host takes over without a session being harmed', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const newer = new Agent({
        url: world.url,
        nodeName: 'hosta',
        credential: { secret: agent.secret as string },
        heartbeatMs: 0,
      });
      newer.bootId = agent.bootId;
      newer.hold({ session_id: session.id, app_id: session.app_id, state: 'running' });
      await newer.connect();
      expect((await agent.closed).code).toBe(4409);
      await shows(session.id, 'host_reconnected');
      expect((await world.session(session.id)).state).toBe('running');
      await newer.drop();
    });
  });

  describe('the agent dies', () => {
    test.each(['assigned', 'starting', 'running'] as const)(
      '%s: failed agent_restarted at its return',
      async (state) => {
        const agent = await world.host('hosta', {
          behaviour: {
            launch:
              state === 'assigned'
                ? []
                : [{ state: 'starting' }, ...(state === 'running' ? [{ state }] : [])],
          } as Partial<Behaviour>,
        });
        const session = await launched();
        await waitSent(agent, 'session_start', session.id);
        await world.until(session.id, state);
        await agent.crash();
        await world.offline(agent);
        await world.reconnect(agent);
        expect(await world.until(session.id, 'failed')).toMatchObject({
          failure_code: 'agent_restarted',
          end_reason: 'host_lost',
        });
        expect(await world.slotsUsed(agent)).toBe(0);
        expect(await world.audit('session.failed')).toHaveLength(1);
      },
    );

    test('stopping: stopped without an error', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      await agent.crash();
      await world.offline(agent);
      await world.reconnect(agent);
      expect(await world.until(session.id, 'stopped')).toMatchObject({
        state_detail: 'host_lost',
        error_message: null,
        failure_code: null,
      });
    });
  });

  describe('the host does not come back', () => {
    test('its sessions wait out the grace: then stopping stops, the others fail', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
      const app = await world.app();
      const running = await world.running(world.people.alice, app);
      const stopping = await world.running(world.people.bob, app);
      await agent.drop();
      await world.offline(agent);
      await world.call(world.people.bob, 'DELETE', `/v1/sessions/${stopping.id}`);
      await world.pass(595 * S);
      expect((await world.session(running.id)).state).toBe('running');
      await world.pass(160 * S);
      expect(await world.until(running.id, 'failed')).toMatchObject({
        state_detail: 'host_lost',
        error_message: 'host agent did not return within the grace window',
      });
      expect(await world.until(stopping.id, 'stopped')).toMatchObject({ error_message: null });
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('with every host away at once the sweep rests, save for what a person gave up', async () => {
      const silent = { behaviour: { answer: silentTo('session_stop') } };
      const agents = [await world.host('hosta', silent), await world.host('hostb', silent)];
      const app = await world.app();
      const one = await world.running(world.people.alice, app);
      const two = await world.running(world.people.bob, app);
      for (const agent of agents) {
        await agent.drop();
        await world.offline(agent);
      }
      await world.call(world.people.bob, 'DELETE', `/v1/sessions/${two.id}`);
      await world.pass(2_000 * S);
      await world.until(two.id, 'stopped');
      expect((await world.session(one.id)).state).toBe('running');

      // Another one back is no reason to condemn the rest at once.
      const lost = agents.find((agent) => agent.hostId === one.host_id)!;
      const back = agents.find((agent) => agent !== lost)!;
      await world.reconnect(back);
      await world.pass(55 * S, back);
      expect((await world.session(one.id)).state).toBe('running');
      await world.pass(200 * S, back);
      expect(await world.until(one.id, 'failed')).toMatchObject({ state_detail: 'host_lost' });
      expect(await world.slotsUsed(lost)).toBe(0);
    });

    test('a sweep that loses its lease to another process ends no session', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await agent.drop();
      await world.offline(agent);
      // The sweep that comes due at the end of the grace is over before time goes on, and ends nothing yet.
      await world.pass(600 * S);
      await runTask('sessions.grace');
      await world.pass(145 * S);
      const { platform } = world.plane;
      const { links: fleet } = world.plane.fleet;
      const presence = fleet.presence.bind(fleet);
      const transaction = platform.database.transaction.bind(platform.database);
      // It looks at who is there before it ends anything.
      let looked = false;
      const looking = vi.spyOn(fleet, 'presence').mockImplementation(() => {
        looked = true;
        return presence();
      });
      const writing = vi.spyOn(platform.database, 'transaction').mockImplementation(async (work) => {
        if (looked)
          await platform.database.db
            .updateTable('leases')
            .set((eb) => ({ holder: 'another', fence: eb('fence', '+', 1) }))
            .where('name', '=', 'sessions.grace')
            .execute();
        return transaction(work);
      });
      await runTask('sessions.grace');
      looking.mockRestore();
      writing.mockRestore();
      expect(looked).toBe(true);
      expect((await world.session(session.id)).state).toBe('running');
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test.each([
      ['two hours', 2 * 3_600 * S, 200],
      ['a year', 366 * 86_400 * S, 401],
    ])(
      'a jump of the wall clock by %s, forth and back, reaps nothing; who is signed in follows it',
      async (_what, byMs, ahead) => {
        const away = await world.host('hosta');
        await world.running(world.people.alice, await world.app());
        const there = await world.host('hostb', { behaviour: { launch: [{ state: 'starting' }] } });
        await away.drop();
        await world.offline(away);
        const { body } = await world.launch(world.people.bob, await world.app());
        await world.until(body.session.id, 'starting');
        // Beyond the rest that follows the first connection, and short of what the start may take.
        await world.pass(65 * S, there);
        const { db } = world.plane.platform.database;
        const states = () => db.selectFrom('sessions').select(['id', 'state']).orderBy('state').execute();
        const before = await states();
        expect(before.map(({ state }) => state)).toEqual(['running', 'starting']);
        for (const [jumpMs, status] of [
          [byMs, ahead],
          [-2 * byMs, 200],
        ] as const) {
          world.clock.jump(jumpMs);
          expect((await world.call(world.people.alice, 'GET', '/v1/me')).status).toBe(status);
          for (const task of ['sessions.grace', 'sessions.stuck', 'sessions.slots']) await runTask(task);
          await world.pass(5 * S, there);
          expect(await states()).toEqual(before);
          expect(there.isOpen).toBe(true);
        }
      },
    );
  });

  describe('drift', () => {
    test('two heartbeats without a session that runs here: failed', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await world.pass(20 * S, agent);
      agent.sessions.clear();
      await world.pass(10 * S, agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({
        state_detail: 'host_lost',
        error_message: 'agent no longer holds the session',
      });
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('something that is not to run is told to stop, at most every 10 s', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
      const stranger = randomUUID();
      agent.hold({ session_id: stranger, app_id: randomUUID() });
      await world.pass(5 * S, agent);
      await waitSent(agent, 'session_stop', stranger);
      expect(sent(agent, 'session_stop', stranger)[0]).toMatchObject({ reason: 'unknown_session' });
      await world.pass(5 * S, agent);
      expect(sent(agent, 'session_stop', stranger)).toHaveLength(1);
      await world.pass(10 * S, agent);
      await waitSent(agent, 'session_stop', stranger, 2);
    });

    test("another host's session, listed at the registration, is told to stop and stays where it is", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const thief = new Agent({
        url: world.url,
        nodeName: 'hostb',
        credential: { token: 'a-fixed-enrollment-token' },
        heartbeatMs: 0,
      });
      thief.hold({ session_id: session.id, app_id: session.app_id });
      await thief.connect();
      await waitSent(thief, 'session_stop', session.id);
      expect(await world.session(session.id)).toMatchObject({ state: 'running', host_id: session.host_id });
      await thief.drop();
    });
  });

  describe('reports', () => {
    test('twice and in disorder they end where they should', async () => {
      const agent = await world.host('hosta', { behaviour: { duplicate: true, reorder: true } });
      const session = await launched();
      await world.until(session.id, 'running');
      agent.behaviour.reorder = false;
      agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
      await world.until(session.id, 'stopped');
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('a report of the start cannot undo a stop', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_stop') } });
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      agent.reportState(session.id, 'running', { detail: 'app presented' });
      await eventually(async () => {
        await world.pass(1 * S, agent);
        return agent.unseen === 0 ? true : undefined;
      }, 'the report was confirmed');
      expect(await world.session(session.id)).toMatchObject({
        state: 'stopping',
        state_detail: 'stop requested',
      });
    });

    test('an app that exits by itself ends as stopped with its log', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      agent.reportState(session.id, 'stopped', { reason: 'app_exited', app_log_tail: 'bye' });
      expect(await world.until(session.id, 'stopped')).toMatchObject({
        end_reason: 'app_exited',
        app_log_tail: 'bye',
        error_message: null,
      });
    });

    test('a crash is audited once, as told by the agent', async () => {
      const agent = await world.host('hosta', { behaviour: { duplicate: true } });
      const session = await world.running(world.people.alice, await world.app());
      agent.reportState(session.id, 'failed', {
        error: 'segfault',
        failure_code: 'app_crashed',
        app_log_tail: 'x',
      });
      await world.until(session.id, 'failed');
      await expect.poll(() => agent.unseen).toBe(0);
      await eventually(
        async () => ((await world.audit('session.failed')).length > 0 ? true : undefined),
        'audited',
      );
      expect(await world.audit('session.failed')).toMatchObject([
        { details: { reason_source: 'agent', failure_code: 'app_crashed', reason: 'segfault' } },
      ]);
    });
  });

  describe('slots', () => {
    test('are rebuilt from the sessions', async () => {
      const agent = await world.host('hosta');
      await world.running(world.people.alice, await world.app());
      await world.plane.platform.database.db.updateTable('gpus').set({ slots_used: 3 }).execute();
      await runTask('sessions.slots');
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test('are given back once, however often and by whom the session is ended', async () => {
      const agent = await world.host('hosta');
      const app = await world.app();
      const one = await world.running(world.people.alice, app);
      await world.running(world.people.bob, app);
      await Promise.all([
        world.call(world.people.alice, 'DELETE', `/v1/sessions/${one.id}`),
        world.call(world.people.admin, 'DELETE', `/v1/sessions/${one.id}`),
      ]);
      agent.reportState(one.id, 'stopped');
      agent.reportState(one.id, 'failed');
      await world.until(one.id, 'stopped');
      await expect.poll(() => agent.unseen).toBe(0);
      expect(await world.slotsUsed(agent)).toBe(1);
    });
  });
});
