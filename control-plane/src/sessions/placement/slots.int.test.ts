import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('booked slots', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const runTask = (task: string) => world.plane.platform.leader.runNow(task);

  test('are rebuilt from the sessions', async () => {
    const agent = await world.host('hosta');
    await world.running(world.people.alice, await world.app());
    await world.plane.platform.database.db.updateTable('gpus').set({ slots_used: 3 }).execute();
    await runTask('sessions.slots');
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  test('are given back once, although a session is ended several times at once', async () => {
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
