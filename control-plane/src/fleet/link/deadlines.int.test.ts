import type { FakeAgent, FakeAgentOptions } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { unavailable } from '../../platform/errors.ts';
import { describeSqlite, ManualClock } from '../../testing/index.ts';
import { type FleetWorld, openFleetWorld } from '../testing/world.ts';

describeSqlite('deadlines of agent links', (databases) => {
  let world: FleetWorld;
  let clock: ManualClock;
  beforeAll(async () => {
    clock = new ManualClock();
    world = await openFleetWorld(await databases.fresh(), { clock });
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const agentFor = (nodeName: string, options?: Partial<FakeAgentOptions>) => world.agent(nodeName, options);
  const ready = (agent: FakeAgent) => world.ready(agent);
  const status = async (id: string) =>
    ((await world.call('GET', `/v1/hosts/${id}`)).body as { status: string }).status;

  test('no register for 15 s: 4408', async () => {
    const agent = agentFor('hosta');
    await agent.open();
    // Wait, because the upgrade is answered before the service has created the link.
    await expect.poll(() => world.fleet.links.has('hosta')).toBe(true);
    await clock.pass(14_900);
    expect(agent.isOpen).toBe(true);
    await clock.pass(500);
    expect((await agent.closed).code).toBe(4408);
  });

  test('no capacity for 15 s after registered: 4408, and the host goes offline', async () => {
    const agent = agentFor('hosta', { silentAfterRegistered: true });
    const { host_id } = await agent.connect();
    await clock.pass(10_000);
    // Heartbeats do not replace the missing message.
    await agent.heard();
    await clock.pass(4_900);
    expect(agent.isOpen).toBe(true);
    await clock.pass(500);
    expect((await agent.closed).code).toBe(4408);
    await expect.poll(() => status(host_id)).toBe('offline');
  });

  test('no frame for 20 s: 4408, host offline; any frame is a sign of life', async () => {
    const agent = agentFor('hosta');
    const hostId = await ready(agent);
    await clock.pass(19_000);
    await agent.heard();
    await clock.pass(19_000);
    agent.sendRaw('{"type":"whatever"}');
    await agent.heard();
    await clock.pass(19_500);
    expect(agent.isOpen).toBe(true);
    await clock.pass(1_000);
    expect((await agent.closed).code).toBe(4408);
    await expect.poll(() => status(hostId)).toBe('offline');
    expect(world.handlers.calls).toContain(`linkLost ${hostId}`);
  });

  test('bytes beyond 16 MiB are read at 4 MiB a second, while other hosts are handled', async () => {
    const [agent, other] = [agentFor('hosta'), agentFor('hostb')];
    await Promise.all([ready(agent), ready(other)]);
    const frame = JSON.stringify({ type: 'from_the_future', more: 'x'.repeat(1024 * 1024 - 64) });
    for (let n = 0; n < 24; n += 1) agent.sendRaw(frame);
    let isRead = false;
    const read = agent.heard().then(() => {
      isRead = true;
    });
    // Enough turns of the event loop to read everything, if the service did not pause the socket.
    for (let turn = 0; turn < 600; turn += 1) await other.heard();
    expect(isRead).toBe(false);
    await clock.pass(1_000);
    for (let turn = 0; turn < 300; turn += 1) await other.heard();
    expect(isRead).toBe(false);
    await clock.pass(1_500);
    await read;
    expect(agent.isOpen).toBe(true);
  });

  test('ages of hosts run on the monotonic clock', async () => {
    const agent = agentFor('hosta');
    const hostId = await ready(agent);
    const seen = world.fleet.links.lastSeenMonotonicMs(hostId)!;
    await agent.drop();
    await expect.poll(() => world.isConnected(hostId)).toBe(false);
    clock.jump(86_400_000);
    await clock.pass(5_000);
    expect(clock.monotonicMs() - world.fleet.links.lastSeenMonotonicMs(hostId)!).toBe(5_000);
    expect(world.fleet.links.lastSeenMonotonicMs(hostId)).toBe(seen);
    expect(world.fleet.links.seenWithin(4_999)).toBe(0);
    expect(world.fleet.links.seenWithin(5_000)).toBe(1);
  });

  test('an unacknowledged command times out after its limit and not before', async () => {
    const agent = agentFor('hosta', { behaviour: { answer: () => 'silence' } });
    const hostId = await ready(agent);
    let settled = false;
    const result = world.fleet.agents.command(hostId, { type: 'restart' }, 10_000).finally(() => {
      settled = true;
    });
    await agent.waitFor('restart');
    await clock.pass(9_900);
    expect(settled).toBe(false);
    await clock.pass(400);
    expect(await result).toEqual({ kind: 'timeout' });
  });

  test('a report waits for a database that is away, and the reports behind it wait too', async () => {
    const agent = agentFor('hosta');
    await ready(agent);
    let away = true;
    world.handlers.onState = async () => {
      if (away) throw unavailable('the database is away');
    };
    const sessionId = '00000000-0000-4000-8000-000000000001';
    agent.reportState(sessionId, 'running');
    agent.reportState(sessionId, 'stopped');
    await agent.heard();
    await clock.pass(5_000);
    expect([agent.seen, world.handlers.states.length]).toEqual([0, 0]);
    away = false;
    await clock.pass(1_000);
    await agent.waitFor('seen', ({ seq }) => seq === 2);
    expect(world.handlers.states.map(({ report }) => report.seq)).toEqual([1, 2]);
  });

  test('heartbeats are written once a second, however many come', async () => {
    const agent = agentFor('hosta');
    const hostId = await ready(agent);
    const writtenAt = async () =>
      (
        await world.platform.database.db
          .selectFrom('hosts')
          .select('last_heartbeat_at')
          .where('id', '=', hostId)
          .executeTakeFirstOrThrow()
      ).last_heartbeat_at;
    for (let n = 0; n < 10; n += 1) await agent.heard();
    const beatAt = clock.nowMs();
    expect(await writtenAt()).toBeNull();
    await clock.pass(1_000);
    await expect.poll(writtenAt).toBe(beatAt);
  });

  test('malformed messages of an hour ago do not count', async () => {
    const agent = agentFor('hosta');
    await ready(agent);
    for (let n = 0; n < 19; n += 1) agent.sendRaw('{}');
    await agent.heard();
    for (let second = 0; second < 61; second += 15) {
      await clock.pass(15_000);
      await agent.heard();
    }
    for (let n = 0; n < 19; n += 1) agent.sendRaw('{}');
    await agent.heard();
    agent.sendRaw('{}');
    expect((await agent.closed).code).toBe(4400);
  });

  test('credentials are checked again a minute after the failures', async () => {
    const guess = () =>
      agentFor('hosta', { credential: { secret: 'wrong' } })
        .open()
        .catch((error) => error.status);
    for (let n = 0; n < 10; n += 1) expect(await guess()).toBe(401);
    expect(await guess()).toBe(429);
    await clock.pass(59_000);
    expect(await guess()).toBe(429);
    await clock.pass(1_000);
    expect(await guess()).toBe(401);
  });
});
