import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { silentTo } from '../testing/commands.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const S = 1_000;

describeDatabases('a host that does not come back', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const runTask = (task: string) => world.plane.platform.leader.runNow(task);

  test('within the grace its sessions stay; then those that stop are stopped, and the others fail', async () => {
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

  test('while every host is away the sweep ends only sessions that a person stopped', async () => {
    const silent = { behaviour: { answer: silentTo('session_stop') } };
    const agents = [await world.host('hosta', silent), await world.host('hostb', silent)];
    const app = await world.app();
    const one = await world.running(world.people.alice, app);
    const two = await world.running(world.people.bob, app);
    // Each control plane has seen the hosts.
    await world.pass(15 * S, ...agents);
    for (const agent of agents) {
      await agent.drop();
      await world.offline(agent);
    }
    await world.call(world.people.bob, 'DELETE', `/v1/sessions/${two.id}`);
    await world.pass(2_000 * S);
    await world.until(two.id, 'stopped');
    expect((await world.session(one.id)).state).toBe('running');

    // One host that returns must not end the sessions of the others at once.
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
    // The sweep that is due at the end of the grace finishes before time advances, and ends nothing yet.
    await world.pass(600 * S);
    await runTask('sessions.grace');
    await world.pass(145 * S);
    const plane = world.planes[0] as SessionsWorld['plane'];
    // With several replicas, only this one still takes part in the sweep.
    for (const other of world.planes.slice(1)) await other.platform.leader.close();
    const { platform } = plane;
    const fleet = plane.fleet.presence;
    const presence = fleet.presence.bind(fleet);
    const transaction = platform.database.transaction.bind(platform.database);
    // The sweep reads the connected hosts before it ends a session.
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
    'a jump of the wall clock by %s, forth and back, ends no session; only sign-ins expire by it',
    async (_what, byMs, ahead) => {
      const away = await world.host('hosta');
      await world.running(world.people.alice, await world.app());
      const there = await world.host('hostb', { behaviour: { launch: [{ state: 'starting' }] } });
      await away.drop();
      await world.offline(away);
      const { body } = await world.launch(world.people.bob, await world.app());
      await world.until(body.session.id, 'starting');
      // Longer than the pause after the first connection, but shorter than the time limit of a start.
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
