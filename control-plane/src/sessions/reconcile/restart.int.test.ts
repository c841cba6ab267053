import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DatabaseTarget } from '../../platform/database/index.ts';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;

describeDatabases('the control plane goes away and comes back', (databases) => {
  let target: DatabaseTarget;
  let world: SessionsWorld;
  const former: SessionsWorld[] = [];
  beforeEach(async () => {
    target = await databases.fresh();
    world = await openSessionsWorld(target);
  });
  afterEach(async () => {
    for (const one of former.splice(0)) await one.close();
    await world.close();
  });

  const host = (options: Parameters<SessionsWorld['host']>[1] = {}) => world.host('hosta', options);
  async function restart(agent: FakeAgent): Promise<void> {
    await world.plane.close();
    former.push(world);
    world = await openSessionsWorld(target, world);
    agent.options.url = world.url;
  }

  test('an orderly stop changes no row; its sessions run on, and can be stopped', async () => {
    const agent = await host();
    const session = await world.running(world.people.alice, await world.app());
    await restart(agent);
    expect((await agent.closed).code).toBe(1012);
    expect(await world.session(session.id)).toMatchObject({
      state: 'running',
      state_detail: 'app presented',
    });
    await world.reconnect(agent);
    const kept = await world.session(session.id);
    expect(kept).toMatchObject({ state: 'running', started_at: session.started_at });
    // The last report before the stop was not confirmed, so it may be sent again and applied last.
    expect(['host_reconnected', 'app presented']).toContain(kept.state_detail);
    expect(await world.slotsUsed(agent)).toBe(1);
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await world.until(session.id, 'stopped');
    expect(await world.slotsUsed(agent)).toBe(0);
  });

  test('a prepared session that was not started is started after the return', async () => {
    const agent = await host({
      behaviour: { answer: (command) => (command.type === 'session_start' ? 'silence' : 'ok') },
    });
    const { body } = await world.launch(world.people.alice, await world.app());
    await eventually('session_start was sent', () =>
      agent.commands.some((command) => command.type === 'session_start') ? true : undefined,
    );
    await restart(agent);
    agent.behaviour.answer = () => 'ok';
    await world.reconnect(agent);
    await world.until(body.session.id, 'running');
  });

  test('a stop that was asked for is asked for again', async () => {
    const agent = await host({
      behaviour: { answer: (command) => (command.type === 'session_stop' ? 'silence' : 'ok') },
    });
    const session = await world.running(world.people.alice, await world.app());
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await restart(agent);
    agent.behaviour.answer = () => 'ok';
    await world.reconnect(agent);
    expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'user_requested' });
  });

  test('a host that stays away keeps its sessions for the grace, counted from the start', async () => {
    const agent = await host();
    const session = await world.running(world.people.alice, await world.app());
    await restart(agent);
    await world.pass(595 * S);
    expect((await world.session(session.id)).state).toBe('running');
    await world.pass(160 * S);
    expect(await world.until(session.id, 'failed')).toMatchObject({ state_detail: 'host_lost' });
    expect(await world.slotsUsed(agent)).toBe(0);
  });

  test('restarts in a row count the grace from the last one, and lose nothing', async () => {
    const agent = await host();
    const session = await world.running(world.people.alice, await world.app());
    const stopping = await world.running(world.people.bob, await world.app());
    agent.behaviour.answer = ({ type }) => (type === 'session_stop' ? 'silence' : 'ok');
    await world.call(world.people.bob, 'DELETE', `/v1/sessions/${stopping.id}`);
    for (let count = 0; count < 10; count += 1) {
      await restart(agent);
      await world.pass(300 * S);
    }
    expect((await world.session(session.id)).state).toBe('running');
    agent.behaviour.answer = () => 'ok';
    await world.reconnect(agent);
    await world.until(stopping.id, 'stopped');
    expect((await world.session(session.id)).state).toBe('running');
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  test('a timer that was lost is replaced by the sweep, which counts from the registration', async () => {
    const agent = await host({ behaviour: { launch: [{ state: 'starting', detail: 'starting app' }] } });
    const { body } = await world.launch(world.people.alice, await world.app());
    await world.until(body.session.id, 'starting');
    await restart(agent);
    await world.pass(300 * S);
    await world.reconnect(agent);
    await world.pass(115 * S, agent);
    expect((await world.session(body.session.id)).state).toBe('starting');
    await world.pass(45 * S, agent);
    expect(await world.until(body.session.id, 'failed')).toMatchObject({ state_detail: 'start timed out' });
  });
});
