import { SECOND_MS } from '@footlight/platform';
import type { Session } from '@footlight/protocol/rest';
import { type FakeAgent, honest } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const WAITING = 'waiting for the previous session to release its home';

/** The agent enforces these limits. The control plane sends them and stores the result. */
describeDatabases('time-outs that the agent enforces', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta');
  });
  afterEach(() => {
    Object.assign(agent.behaviour, { launch: honest.launch, swap: honest.swap });
  });
  afterAll(() => world.close());

  const shows = (id: string, detail: string): Promise<Session> =>
    eventually(detail, async () => {
      const session = await world.session(id);
      return session.state_detail === detail ? session : undefined;
    });
  const handedOut = (id: string) =>
    agent.commands.find((command) => command.type === 'session_assign' && command.session_id === id);

  test('idle_timeout_secs 600: the agent ends the session, which is a stop with its reason', async () => {
    const session = await world.running(world.people.alice, await world.app());
    expect(handedOut(session.id)).toMatchObject({ idle_timeout_secs: 600 });
    agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
    expect(await world.until(session.id, 'stopped')).toMatchObject({
      end_reason: 'idle_timeout',
      failure_code: null,
      error_message: null,
    });
    expect(await world.slotsUsed(agent)).toBe(0);
  });

  test('app_boot_timeout_secs 300: the agent fails the session with app_never_presented', async () => {
    agent.behaviour.launch = honest.launch.filter(({ detail }) => detail !== 'app presented');
    const session = await world.running(world.people.alice, await world.app());
    expect(handedOut(session.id)).toMatchObject({ app_boot_timeout_secs: 300 });
    // The session is running, so the control plane's limits for a start no longer apply while the app boots.
    await world.pass(299 * SECOND_MS, agent);
    expect(await world.session(session.id)).toMatchObject({ state: 'running', state_detail: 'app booting' });
    agent.reportState(session.id, 'failed', {
      failure_code: 'app_never_presented',
      error: 'the app showed nothing within 300 s',
    });
    expect(await world.until(session.id, 'failed')).toMatchObject({
      failure_code: 'app_never_presented',
      error_message: 'the app showed nothing within 300 s',
    });
    expect(await world.slotsUsed(agent)).toBe(0);
  });

  test('a launch whose home is still in use shows that it waits, and goes on when it is free', async () => {
    agent.behaviour.launch = [{ state: 'starting', detail: WAITING }];
    const homed = await world.app({ managed_home: true });
    const { body } = await world.launch(world.people.alice, homed);
    expect(await shows(body.session.id, WAITING)).toMatchObject({ state: 'starting' });
    agent.reportState(body.session.id, 'running', { detail: 'app presented' });
    await world.until(body.session.id, 'running');
    agent.reportState(body.session.id, 'stopped', { reason: 'app_exited' });
    await world.until(body.session.id, 'stopped');
  });

  test('a swap whose home is still in use after 10 s is rolled back: the old app stays, the new home is free', async () => {
    agent.behaviour.swap = null;
    const old = await world.app();
    const homed = await world.app({ managed_home: true });
    const session = await world.running(world.people.alice, old);
    const url = `/v1/sessions/${session.id}/swap`;
    const swap = await world.call(world.people.alice, 'POST', url, { body: { app_id: homed } });
    expect(swap.body.session).toMatchObject({ state_detail: 'swapping', app_id: old });
    await world.pass(10 * SECOND_MS, agent);
    // The agent acknowledged the swap, so the agent's limit applies and not the limit for the ack.
    expect(await world.session(session.id)).toMatchObject({ state: 'running', state_detail: 'swapping' });
    agent.endSwap(session.id, homed, { rolled_back: 'the home is still in use' });
    expect(await shows(session.id, 'swap rolled back: the home is still in use')).toMatchObject({
      state: 'running',
      app_id: old,
    });
    expect((await world.launch(world.people.alice, homed)).status).toBe(201);
  });
});
