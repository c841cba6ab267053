import { type Behaviour, FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { acceptedLaunch, sent, silentTo, waitSent } from '../testing/commands.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('a session of a host', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const launched = () => acceptedLaunch(world);
  const shows = (id: string, detail: string) =>
    eventually(detail, async () => ((await world.session(id)).state_detail === detail ? true : undefined));

  describe('whose link breaks', () => {
    test('after the assignment was sent, and the host has it: it is started at the registration', async () => {
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

    test('after the assignment was sent, and the host never got it: it fails at the registration', async () => {
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

    test('while it starts: it is kept, and goes on', async () => {
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

    test('while it stops: session_stop is sent again', async () => {
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

    test('it can be stopped meanwhile; quota and home are free at once', async () => {
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

    test('its end meanwhile is applied with its error, and the queued report fills the rest', async () => {
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

    test('a newer connection of the host takes over, and it goes on', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const newer = new FakeAgent({
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

  describe('whose agent dies', () => {
    test.each(['assigned', 'starting', 'running'] as const)(
      'while it is %s: it fails with agent_restarted at the return of the agent',
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
        await expect.poll(() => world.activity('session.failed')).toHaveLength(1);
      },
    );

    test('while it stops: it is stopped without an error', async () => {
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
});
