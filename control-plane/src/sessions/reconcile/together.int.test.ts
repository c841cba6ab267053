import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { sent, waitSent } from '../testing/commands.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

/** Hosts of each kind; together they fit into one batch of 128. */
const EACH = 4;

describeDatabases('hosts that register in one transaction', (databases) => {
  let world: SessionsWorld;
  let agents: FakeAgent[];
  let runs: string[];

  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    const app = await world.app();
    agents = await Promise.all(Array.from({ length: 3 * EACH }, (_, n) => world.host(`together-${n}`)));
    runs = [];
    for (const agent of agents) runs.push(await world.runsOn(agent, world.people.alice, app));
    await Promise.all(agents.map((agent) => agent.drop()));
    for (const agent of agents) await world.offline(agent);
  });
  afterAll(() => world.close());

  /** Makes all hosts register while the first transaction of each control plane is blocked. @returns number of transactions */
  async function returnTogether(): Promise<number> {
    let transactions = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const spies = world.planes.map(({ platform: { database } }) => {
      const begin = database.transaction.bind(database);
      return vi.spyOn(database, 'transaction').mockImplementation(async (work) => {
        transactions += 1;
        await held;
        return begin(work);
      });
    });
    const handshakes = () => world.planes.reduce((sum, { fleet }) => sum + fleet.links.handshakes, 0);
    const returned = Promise.all(agents.map((agent) => agent.connect()));
    await expect.poll(handshakes).toBe(agents.length);
    release();
    await returned;
    for (const spy of spies) spy.mockRestore();
    return transactions;
  }

  test('each keeps, loses and gives up its own sessions, and no other ones', async () => {
    const [kept, lost, thieves] = [0, 1, 2].map((kind) => agents.filter((_, n) => n % 3 === kind)) as [
      FakeAgent[],
      FakeAgent[],
      FakeAgent[],
    ];
    const runOf = (agent: FakeAgent) => runs[agents.indexOf(agent)] as string;
    for (const agent of lost) agent.sessions.clear();
    for (const [n, thief] of thieves.entries()) {
      const { app_id } = thief.sessions.get(runOf(thief)) as { app_id: string };
      thief.hold({ session_id: runOf(kept[n] as FakeAgent), app_id });
    }
    expect(await returnTogether()).toBeLessThan(agents.length);

    for (const [n, thief] of thieves.entries()) {
      const stolen = runOf(kept[n] as FakeAgent);
      await waitSent(thief, 'session_stop', stolen);
      expect(sent(thief, 'session_stop', runOf(thief))).toEqual([]);
      expect(await world.session(runOf(thief))).toMatchObject({ state: 'running', host_id: thief.hostId });
    }
    for (const agent of kept) {
      expect(sent(agent, 'session_stop', runOf(agent))).toEqual([]);
      expect(await world.session(runOf(agent))).toMatchObject({
        state: 'running',
        state_detail: 'host_reconnected',
        host_id: agent.hostId,
      });
    }
    for (const agent of lost)
      expect(await world.until(runOf(agent), 'failed')).toMatchObject({
        host_id: agent.hostId,
        error_message: 'session not present after the agent reconnected',
      });
    const hosts = await world.call(world.people.admin, 'GET', '/v1/hosts?limit=100');
    expect(hosts.body.items.map(({ status }: { status: string }) => status)).toEqual(
      agents.map(() => 'online'),
    );
  });
});
