import { type FakeAgent, UpgradeRefused } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../testing/index.ts';
import { type FleetWorld, openFleetWorld } from './testing/world.ts';

describeDatabases('more agents than can be registered', (databases) => {
  let world: FleetWorld;
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh(), { maxHandshakes: 3 });
  });
  afterAll(() => world.close());

  async function refusalOf(agent: FakeAgent): Promise<UpgradeRefused> {
    const outcome = await agent.open().catch((error: unknown) => error);
    if (!(outcome instanceof UpgradeRefused)) throw new Error('the upgrade was not refused');
    return outcome;
  }

  test('the upgrade is 503 with a Retry-After of 1 to 4 s until a handshake is over', async () => {
    const first = world.agent('first');
    const others = ['second', 'third'].map((name) => world.agent(name));
    for (const agent of [first, ...others]) await agent.open();

    const refused = await refusalOf(world.agent('fourth'));
    expect([refused.status, refused.code]).toEqual([503, 'internal']);
    expect(['1', '2', '3', '4']).toContain(refused.headers['retry-after']);

    await first.drop();
    await expect.poll(() => world.fleet.links.handshakes).toBe(2);
    await world.ready(world.agent('fourth'));
    // A registered agent does not count as a handshake.
    await world.agent('fifth').open();
    expect((await refusalOf(world.agent('sixth'))).status).toBe(503);
    await world.dropAgents();
  });

  test('one host with many sockets takes one place', async () => {
    const host = world.agent('busy');
    await world.ready(host);
    await host.drop();
    const sockets = Array.from({ length: 5 }, () =>
      world.agent('busy', { credential: { secret: host.secret! } }),
    );
    for (const socket of sockets) await socket.open();
    expect(world.fleet.links.handshakes).toBe(1);
    await world.dropAgents();
    await expect.poll(() => world.fleet.links.handshakes).toBe(0);
  });
});
