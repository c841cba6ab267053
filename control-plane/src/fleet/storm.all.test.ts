import { randomUUID } from 'node:crypto';
import { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeDatabases } from '../testing/index.ts';
import { FIXED_TOKEN, type FleetWorld, openFleetWorld } from './testing/world.ts';

const AGENTS = 60;
const SESSIONS = 4;

describeDatabases('a fleet that comes back at once', (databases) => {
  let world: FleetWorld;
  let agents: FakeAgent[];
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh());
    agents = Array.from(
      { length: AGENTS },
      (_, n) =>
        new FakeAgent({
          url: world.url,
          nodeName: `storm-${n}`,
          credential: { token: FIXED_TOKEN },
          heartbeatMs: 0,
          clock: world.platform.clock,
          behaviour: { duplicate: n % 3 === 0 },
        }),
    );
    await Promise.all(agents.map((agent) => agent.connect()));
    const ready = () => world.handlers.calls.filter((call) => call.startsWith('reported '));
    await vi.waitFor(() => expect(ready()).toHaveLength(AGENTS), { timeout: 20_000 });
  });
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.drop()));
    await world.close();
  });

  test('loses no report, doubles none, and keeps each host in order', async () => {
    await Promise.all(agents.map((agent) => agent.drop()));
    await expect.poll(() => world.fleet.links.presence().connected).toBe(0);
    world.handlers.reconciled.length = 0;
    for (const agent of agents) {
      for (let n = 0; n < SESSIONS; n += 1) {
        const session_id = randomUUID();
        agent.hold({ session_id, app_id: randomUUID() });
        agent.reportState(session_id, 'running', { detail: 'app presented' });
      }
    }
    await Promise.all(agents.map((agent) => agent.connect()));
    await Promise.all(agents.map((agent) => agent.waitFor('seen', ({ seq }) => seq === SESSIONS, 20_000)));

    expect(world.handlers.reconciled).toHaveLength(AGENTS);
    expect(
      world.handlers.reconciled.every(({ host, held }) => host.sameBoot && held.length === SESSIONS),
    ).toBe(true);
    const byHost = new Map<string, number[]>();
    for (const { hostId, report } of world.handlers.states) {
      byHost.set(hostId, [...(byHost.get(hostId) ?? []), report.seq]);
    }
    expect(byHost.size).toBe(AGENTS);
    for (const seqs of byHost.values()) expect(seqs).toEqual([1, 2, 3, 4]);
    expect(world.fleet.links.presence().connected).toBe(AGENTS);
    expect(world.fleet.links.seenWithin(60_000)).toBe(AGENTS);
  });
});
