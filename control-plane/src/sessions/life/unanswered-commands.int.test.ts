import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { acceptedLaunch, sent, silentTo, waitSent } from '../testing/commands.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;

describeDatabases('a command to a host', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const launched = () => acceptedLaunch(world);
  const shows = (id: string, detail: string) =>
    eventually(detail, async () => ((await world.session(id)).state_detail === detail ? true : undefined));

  describe('that it refuses', () => {
    test.each([
      ['session_assign', 'assign_refused'],
      ['session_start', 'start_refused'],
    ] as const)('%s: the session fails with the code and words of the host', async (type, end_reason) => {
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
      await expect
        .poll(() => world.activity('session.failed'))
        .toMatchObject([
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

    test('session_stop: the session stays stopping until the sweep ends it', async () => {
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

  describe('that it leaves without an answer', () => {
    test('session_assign: after 10 s the session fails, "assign timed out"', async () => {
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

    test('session_start: after 10 s the session fails, "start timed out", and its host is told to stop it', async () => {
      const agent = await world.host('hosta', { behaviour: { answer: silentTo('session_start') } });
      const session = await launched();
      await waitSent(agent, 'session_start', session.id);
      await world.pass(10 * S, agent);
      expect(await world.until(session.id, 'failed')).toMatchObject({ state_detail: 'start timed out' });
      await waitSent(agent, 'session_stop', session.id);
      expect(sent(agent, 'session_stop', session.id)[0]).toMatchObject({ reason: 'start_timed_out' });
    });

    test('session_stop: after 10 s this is logged, and the session stays stopping', async () => {
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

    test('a session that was started and never runs fails 90 s after its last report', async () => {
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
    });

    test('a host that hangs loses its link and nothing else; its session goes on at its return', async () => {
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
});
