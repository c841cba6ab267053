import { randomUUID } from 'node:crypto';
import { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { sent, silentTo, waitSent } from '../testing/commands.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;

describeDatabases('a host that holds other sessions than it should', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('a session that runs here and is missing in two heartbeats fails', async () => {
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

  test('a session that is unknown here is told to stop, at most every 10 s', async () => {
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
    const thief = new FakeAgent({
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
