import { randomUUID } from 'node:crypto';
import { fastClock } from '@footlight/platform/testing';
import { type FakeAgent, type FakeAgentOptions, TcpRelay } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { type FleetWorld, openFleetWorld } from '../testing/world.ts';

/** Speed of the clock: the 20 s of silence after which a link counts as lost take one second. */
const SPEED = 20;

describeDatabases('a network that breaks between agent and control plane', (databases) => {
  let world: FleetWorld;
  let relay: TcpRelay;
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh(), { clock: fastClock(SPEED) });
    relay = await TcpRelay.to(new URL(world.url));
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(async () => {
    relay.close();
    await world.close();
  });

  /** An agent that sends a heartbeat every two seconds of the test's clock. */
  const agentFor = (options: Partial<FakeAgentOptions> = {}): FakeAgent =>
    world.agent('hosta', { url: `http://127.0.0.1:${relay.port}`, heartbeatMs: 2_000, ...options });
  const status = async () =>
    (await world.platform.database.db.selectFrom('hosts').select('status').executeTakeFirstOrThrow()).status;

  test('half-open: the silence is detected here, and the new connection stays, however late the old one closes', async () => {
    const agent = agentFor();
    const hostId = await world.ready(agent);
    relay.loseConnections();
    await expect.poll(() => world.handlers.calls).toContain(`linkLost ${hostId}`);
    await expect.poll(status).toBe('offline');
    // The agent has not detected the failure; it still writes into the dead connection.
    expect(agent.isOpen).toBe(true);
    world.handlers.calls.length = 0;
    const again = agentFor({ credential: { secret: agent.secret! } });
    again.bootId = agent.bootId;
    expect(await world.ready(again)).toBe(hostId);
    await agent.drop();
    again.heartbeat({ ts: 1 });
    await again.waitFor('heartbeat_ack', ({ echo }) => echo === 1);
    expect([await status(), world.fleet.links.presence().connected]).toEqual(['online', 1]);
    expect(world.handlers.calls).toEqual([`reported ${hostId}`]);
  });

  test('cut in the middle of a frame: wherever and however often, each report is handled once and in order', async () => {
    const agent = agentFor();
    await world.ready(agent);
    const [cuts, reportsEach] = [[1, 80, 350, 600, 1_300, 2_900], 5];
    for (const bytes of cuts) {
      relay.cutAfter(bytes);
      for (let n = 0; n < reportsEach; n += 1)
        agent.reportState(randomUUID(), 'stopped', { app_log_tail: 'x'.repeat(500) });
      await agent.closed;
      await agent.connect();
    }
    const all = cuts.length * reportsEach;
    await agent.waitFor('seen', ({ seq }) => seq === all);
    expect(world.handlers.states.map(({ report }) => report.seq)).toEqual(
      Array.from({ length: all }, (_, n) => n + 1),
    );
    expect(agent.unseen).toBe(0);
  });
});
