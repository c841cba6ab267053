import { displayCapacity, type FakeAgent, honest } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DatabaseTarget } from '../platform/database/index.ts';
import { addHost, describeDatabases } from '../testing/index.ts';
import { useLaunchWorld } from './testing/launch-world.ts';
import { eventually, openSessionsWorld, type SessionsWorld, slots } from './testing/world.ts';

describeDatabases('sessions that start by themselves on the display attached to a host', (databases) => {
  let target: DatabaseTarget;
  let world: SessionsWorld;
  let agent: FakeAgent;
  let app: string;
  const former: SessionsWorld[] = [];

  beforeEach(async () => {
    target = await databases.fresh();
    world = await openSessionsWorld(target);
    app = await world.app({ default_encode_slots: 2 });
    agent = await world.host('hosta', { capacity: displayCapacity(true) });
  });
  afterEach(async () => {
    for (const one of former.splice(0)) await one.close();
    await world.close();
  });

  async function setConsole(body: object): Promise<void> {
    const path = `/v1/admin/hosts/${agent.hostId}/console-config`;
    expect(await world.call(world.people.admin, 'PATCH', path, { body })).toMatchObject({ status: 200 });
  }
  const start = (more: object = {}) =>
    setConsole({
      enabled: true,
      auto_start_on_display: true,
      default_app: app,
      default_user: world.people.alice.id,
      ...more,
    });
  /** Waits until `count` sessions were launched and the newest is in this state, and returns it. */
  const nth = (count: number, state: string) =>
    eventually(`session ${count} is ${state}`, async () => {
      const [newest, ...earlier] = await world.list();
      return newest?.state === state && earlier.length === count - 1 ? newest : undefined;
    });
  /** Advances the time until `count` sessions were launched and the newest runs. */
  async function again(count: number) {
    await eventually(`session ${count} is launched`, async () => {
      await world.pass(2_000, agent);
      return (await world.list()).length >= count ? true : undefined;
    });
    return nth(count, 'running');
  }
  const assigned = (id: string) =>
    agent.commands.find((command) => command.type === 'session_assign' && command.session_id === id);
  const report = (connected: boolean) => {
    agent.capacity = displayCapacity(connected);
    agent.send(agent.capacity);
  };

  test('local only: for that account, on that host, with no slot, no token and no idle limit', async () => {
    await start();
    const session = await nth(1, 'running');
    expect(session).toMatchObject({
      app_id: app,
      user_id: world.people.alice.id,
      host_id: agent.hostId,
      video_topology: 'local_only',
    });
    expect(assigned(session.id)).toMatchObject({
      video_topology: 'local_only',
      resources: { encode_slots: 0 },
      idle_timeout_secs: 0,
    });
    expect(await world.slotsUsed(agent)).toBe(0);
    const path = `/v1/sessions/${session.id}/signaling-token`;
    expect(await world.call(world.people.alice, 'POST', path)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    });
    expect(await world.call(world.people.alice, 'GET', `/v1/sessions/${session.id}`)).toMatchObject({
      body: { session: { video_topology: 'local_only' } },
    });
  });

  test('streamed as well: the slots of the app, and its owner may watch', async () => {
    await start({ stream: true });
    const session = await nth(1, 'running');
    expect(session.video_topology).toBe('dual_output');
    expect(assigned(session.id)).toMatchObject({
      video_topology: 'dual_output',
      resources: { encode_slots: 2 },
      idle_timeout_secs: 0,
    });
    expect(await world.slotsUsed(agent)).toBe(2);
    const path = `/v1/sessions/${session.id}/signaling-token`;
    expect((await world.call(world.people.alice, 'POST', path)).status).toBe(201);
  });

  test('has no launching account', async () => {
    await start();
    const { id } = await nth(1, 'running');
    // Poll, because the host may receive the command before the launch is written to the log.
    const noted = await eventually('noted', async () => {
      const launches = await world.activity('session.launched');
      return launches.length > 0 ? launches : undefined;
    });
    expect(noted).toEqual([
      { target_id: id, actor_user_id: null, details: { app_id: app, host_id: agent.hostId } },
    ]);
  });

  test('a launch by a person on that host is not mistaken for it', async () => {
    const session = await world.running(world.people.alice, app);
    await world.pass(1_000, agent);
    await start();
    expect((await nth(2, 'running')).video_topology).toBe('local_only');
    const [own] = (await world.list()).filter(({ id }) => id === session.id);
    expect(own).not.toHaveProperty('video_topology');
  });

  test('a local session can change to any app, however many encode slots that app needs', async () => {
    await start();
    const { id } = await nth(1, 'running');
    const other = await world.app({ default_encode_slots: 3 });
    const path = `/v1/sessions/${id}/swap`;
    const swap = await world.call(world.people.alice, 'POST', path, { body: { app_id: other } });
    expect(swap.status).toBe(200);
    await eventually('swapped', async () => ((await world.session(id)).app_id === other ? true : undefined));
  });

  test.each([
    ['the console is turned off', 'console_disabled', () => setConsole({ enabled: false })],
    ['the display is pulled out', 'console_display_disconnected', async () => report(false)],
  ])('when %s it ends with %s, and none follows', async (_name, reason, happens) => {
    await start();
    const { id } = await nth(1, 'running');
    await happens();
    expect(await nth(1, 'stopped')).toMatchObject({ id, end_reason: reason });
    expect(agent.commands).toContainEqual(
      expect.objectContaining({ type: 'session_stop', session_id: id, reason }),
    );
    await world.pass(120_000, agent);
    expect(await world.list()).toHaveLength(1);
  });

  test('a session that dies is started again', async () => {
    await start();
    const { id } = await nth(1, 'running');
    agent.reportState(id, 'failed', { failure_code: 'app_crashed' });
    await again(2);
  });

  test('a full host is asked again until it has the slots', async () => {
    const filling = await world.app({ default_encode_slots: 4 });
    const { id } = await world.running(world.people.bob, filling);
    // Advance the time, because the newest session is found by its creation time.
    await world.pass(1_000, agent);
    await start({ stream: true });
    await world.call(world.people.bob, 'DELETE', `/v1/sessions/${id}`);
    await world.until(id, 'stopped');
    expect((await again(2)).video_topology).toBe('dual_output');
  });

  test('a session that its host cannot start counts as one that died', async () => {
    agent.behaviour.answer = ({ type }) => (type === 'session_assign' ? { code: 'unsupported' } : 'ok');
    await start();
    await nth(1, 'failed');
    Object.assign(agent.behaviour, honest);
    await again(2);
  });

  test('a restart of the service neither ends nor doubles it, and it can still be ended', async () => {
    await start();
    const { id } = await nth(1, 'running');
    await world.plane.close();
    former.push(world);
    world = await openSessionsWorld(target, world);
    agent.options.url = world.url;
    await world.reconnect(agent);
    await setConsole({ grab: false });
    expect(await nth(1, 'running')).toMatchObject({ id, video_topology: 'local_only' });
    report(false);
    expect(await nth(1, 'stopped')).toMatchObject({ id, end_reason: 'console_display_disconnected' });
  });
});

describeDatabases('a launch on the display attached to a host', (databases) => {
  const given = useLaunchWorld(databases);
  const { db } = given;

  const console = (hostId: string, topology: 'local_only' | 'dual_output') =>
    given.world.plane.sessions.consoles.launch({
      hostId,
      userId: given.alice.id,
      appId: given.app,
      topology,
    });

  test('a local session takes no slot of a full host, and has no signaling token', async () => {
    const agent = await given.world.host('full', slots(0));
    const id = await console(agent.hostId as string, 'local_only');
    expect(await given.world.until(id, 'running')).toMatchObject({
      host_id: agent.hostId,
      user_id: given.alice.id,
    });
    expect(await given.world.slotsUsed(agent)).toBe(0);
    expect(agent.commands.find((command) => command.type === 'session_assign')).toMatchObject({
      video_topology: 'local_only',
      resources: { encode_slots: 0 },
    });
    const tokens = await db()
      .selectFrom('signaling_tokens')
      .selectAll()
      .where('session_id', '=', id)
      .execute();
    expect(tokens).toEqual([]);
    await expect(console(agent.hostId as string, 'dual_output')).rejects.toMatchObject({
      code: 'no_host_available',
    });
  });

  test('a host that does not take placements is not replaced by another', async () => {
    const bare = await addHost(given.world, 'elsewhere');
    await expect(console(bare, 'local_only')).rejects.toMatchObject({ code: 'no_host_available' });
  });
});
