import { randomUUID } from 'node:crypto';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { describeDatabases } from '../testing/index.ts';
import { hostSubjects } from './subjects.ts';
import { type FleetWorld, openFleetWorld } from './testing/world.ts';

describeDatabases('the agent link of a host that another replica may register', (databases) => {
  let world: FleetWorld;
  let agent: FakeAgent;
  let hostId: string;
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh());
  });
  beforeEach(async () => {
    await world.reset();
    agent = world.agent('hosta');
    hostId = await world.ready(agent);
  });
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const hostRow = () =>
    world.platform.database.db
      .selectFrom('hosts')
      .selectAll()
      .where('id', '=', hostId)
      .executeTakeFirstOrThrow();
  const status = async () => (await hostRow()).status;

  // SQLite has no other replica, and a second transaction would wait before the handshake.
  describe.skipIf(databases.dialect === 'sqlite')('that closes while its registration waits', () => {
    /** Another replica changes the host's row in a transaction, for which the registration of a new link waits. */
    async function closeWhileWaiting(other: { status?: 'online'; connection_id?: string }) {
      const { database } = world.platform;
      let goOn = () => {};
      const held = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const elsewhere = database.transaction(async (tx) => {
        const row = { last_heartbeat_at: 1, ...other };
        await tx.updateTable('hosts').set(row).where('id', '=', hostId).execute();
        await held;
      });
      const transaction = vi.spyOn(database, 'transaction');
      const late = world.agent('hosta', { credential: { secret: agent.secret! } });
      const connecting = late.connect().catch(() => undefined);
      await expect.poll(() => transaction.mock.calls.length).toBe(1);
      transaction.mockRestore();
      await late.drop();
      await connecting;
      await expect.poll(() => world.fleet.links.handshakes).toBe(0);
      goOn();
      await elsewhere;
      await world.platform.writeBatch.idle();
    }

    test('does not overwrite a newer registration at another replica', async () => {
      await agent.drop();
      await expect.poll(status).toBe('offline');
      const newer = { status: 'online', connection_id: randomUUID() } as const;
      await closeWhileWaiting(newer);
      expect(await hostRow()).toMatchObject(newer);
    });

    test('takes the host offline if it has replaced the older link', async () => {
      await closeWhileWaiting({});
      expect((await agent.closed).code).toBe(4409);
      await expect.poll(status).toBe('offline');
    });
  });

  test.each<[string, () => void]>([
    ['after a gap of the bus', () => world.gap()],
    [
      'after the first report there',
      () =>
        world.publishElsewhere(hostSubjects.changed, hostId, {
          what: 'reported',
          canConsole: false,
          hasConsole: false,
        }),
    ],
  ])('closes %s, though the first read fails', async (_when, learn) => {
    const { db } = world.platform.database;
    await db.updateTable('hosts').set({ connection_id: randomUUID() }).where('id', '=', hostId).execute();
    const read = vi.spyOn(db, 'selectFrom').mockImplementationOnce(() => {
      throw new Error('broken by the test');
    });
    learn();
    expect(read).toHaveBeenCalledOnce();
    expect((await agent.closed).code).toBe(4409);
    read.mockRestore();
  });

  test('closes in an orderly shutdown only after what the host sent is written', async () => {
    const stopping = await openFleetWorld(await databases.fresh());
    const other = world.agent('hosta', { url: stopping.url });
    await other.connect();
    other.heartbeat();
    await other.waitFor('heartbeat_ack');
    await stopping.fleet.close();
    const { last_heartbeat_at } = await stopping.platform.database.db
      .selectFrom('hosts')
      .select('last_heartbeat_at')
      .executeTakeFirstOrThrow();
    expect(last_heartbeat_at).not.toBeNull();
    await stopping.close();
  });

  test('that is about to close takes no launches, but still the commands of earlier ones', async () => {
    const stopping = await openFleetWorld(await databases.fresh());
    const other = world.agent('hosta', { url: stopping.url });
    await other.connect();
    const { agents, links } = stopping.fleet;
    expect(await agents.link(other.hostId!)).not.toBeNull();
    expect(links.leave()).toBe(true);
    expect(await agents.link(other.hostId!)).toBeNull();
    expect(await agents.command(other.hostId!, { type: 'restart' })).toEqual({ kind: 'ok' });
    await stopping.close();
  });
});
