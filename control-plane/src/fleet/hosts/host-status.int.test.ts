import { type FakeAgent, gpuCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, ManualClock } from '../../testing/index.ts';
import { type FleetWorld, openFleetWorld } from '../testing/world.ts';

const READ_DEADLINE_MS = 20_000;

describeDatabases('the host status machine, row by row', (databases) => {
  let world: FleetWorld;
  let clock: ManualClock;
  beforeAll(async () => {
    clock = new ManualClock();
    world = await openFleetWorld(await databases.fresh(), { clock });
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const row = (id: string) =>
    world.platform.database.db.selectFrom('hosts').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const gpus = () => world.platform.database.db.selectFrom('gpus').selectAll().execute();
  const status = async (id: string) => (await row(id)).status;
  const drain = (id: string, body?: object) => world.call('POST', `/v1/hosts/${id}/drain`, body);
  const uncordon = (id: string) => world.call('POST', `/v1/hosts/${id}/uncordon`);
  const becomes = (id: string, wanted: string) => expect.poll(() => status(id)).toBe(wanted);

  /** A host with a GPU, a VRAM sample and a pending restart, which a registration must reset. */
  async function busyHost(): Promise<[FakeAgent, string]> {
    const agent = world.agent('hosta', { capacity: gpuCapacity(1) });
    const id = await world.ready(agent);
    agent.heartbeat({ gpu_vram: [{ index: 0, used_mb: 1_000, free_mb: 20_000 }] });
    await agent.waitFor('heartbeat_ack');
    await world.heartbeatsWritten();
    expect(await gpus()).toMatchObject([{ reported: 1, vram_mb_used: 1_000 }]);
    await world.platform.database.db.updateTable('hosts').set({ pending_restart: 1 }).execute();
    return [agent, id];
  }

  /** The same host connects again and sends only its registration. */
  async function registersAgain(agent: FakeAgent): Promise<FakeAgent> {
    const again = world.agent('hosta', {
      credential: { secret: agent.secret as string },
      silentAfterRegistered: true,
    });
    again.bootId = agent.bootId;
    await again.connect();
    return again;
  }

  async function expectReset(id: string): Promise<void> {
    expect(await row(id)).toMatchObject({
      pending_restart: 0,
      capacity_detection: 'unavailable',
      capacity_reason: 'awaiting fresh capacity report',
    });
    expect(await gpus()).toMatchObject([
      { reported: 0, vram_mb_used: null, vram_mb_free: null, vram_sampled_at: null },
    ]);
  }

  describe('(none) or offline → online: its agent registers on its socket', () => {
    test('a name without a record becomes a host that is online', async () => {
      const agent = world.agent('hosta', { silentAfterRegistered: true });
      const { host_id } = await agent.connect();
      expect(await row(host_id)).toMatchObject({ status: 'online', drain_intent: 0 });
      expect(world.handlers.reconciled).toHaveLength(1);
    });

    test('an offline host comes back online; values of its former connection are reset and its sessions are reconciled', async () => {
      const [agent, id] = await busyHost();
      await agent.drop();
      await becomes(id, 'offline');
      await registersAgain(agent);
      expect(await status(id)).toBe('online');
      await expectReset(id);
      expect(world.handlers.reconciled.map(({ host }) => host.hostId)).toEqual([id, id]);
    });

    test('an offline host with the intent to drain comes back draining', async () => {
      const [agent, id] = await busyHost();
      await drain(id);
      await agent.drop();
      await becomes(id, 'offline');
      await registersAgain(agent);
      expect(await status(id)).toBe('draining');
      await expectReset(id);
    });
  });

  describe('online, draining → the same: the same agent reconnects, the new connection displaces the old', () => {
    test.each([
      ['online', false],
      ['draining', true],
    ] as const)(
      '%s stays %s: same resets, the intent to drain survives, sessions reconciled',
      async (stays, drained) => {
        const [agent, id] = await busyHost();
        if (drained) await drain(id);
        const closed = agent.closed;
        await registersAgain(agent);
        expect(await closed).toMatchObject({ code: 4409 });
        expect(await row(id)).toMatchObject({ status: stays, drain_intent: drained ? 1 : 0 });
        await expectReset(id);
        expect(world.handlers.reconciled).toHaveLength(2);
      },
    );

    test("the older connection's close neither marks the host offline nor ends a session", async () => {
      const [agent, id] = await busyHost();
      const again = await registersAgain(agent);
      await agent.closed;
      await again.waitFor('config_update');
      world.handlers.calls.length = 0;
      again.send(gpuCapacity(1));
      await expect.poll(() => world.handlers.calls).toEqual([`reported ${id}`]);
      expect(await status(id)).toBe('online');
    });
  });

  test('online → draining: admin drain; the intent is stored', async () => {
    const [, id] = await busyHost();
    expect((await drain(id)).body).toMatchObject({ status: 'draining' });
    expect(await row(id)).toMatchObject({ status: 'draining', drain_intent: 1 });
    expect(world.handlers.calls.filter((call) => call.startsWith('stop'))).toEqual([]);
  });

  test('draining → draining: drain again changes nothing; force still acts', async () => {
    const [, id] = await busyHost();
    await drain(id);
    expect((await drain(id)).body).toMatchObject({ status: 'draining' });
    expect((await drain(id, { force: true })).body).toMatchObject({ status: 'draining' });
    expect(world.handlers.calls.filter((call) => call.startsWith('stop'))).toEqual([
      `stop ${id} host_draining`,
    ]);
  });

  test('draining → online: admin uncordon; the intent is cleared', async () => {
    const [, id] = await busyHost();
    await drain(id);
    expect((await uncordon(id)).body).toMatchObject({ status: 'online' });
    expect(await row(id)).toMatchObject({ status: 'online', drain_intent: 0 });
  });

  test('online → online: uncordon is a no-op 200', async () => {
    const [, id] = await busyHost();
    const answer = await uncordon(id);
    expect([answer.status, answer.body]).toMatchObject([200, { status: 'online' }]);
  });

  describe('online, draining → offline', () => {
    test.each([
      ['online', 0],
      ['draining', 1],
    ] as const)('%s: the socket closed; the intent to drain stays %i', async (from, intent) => {
      const [agent, id] = await busyHost();
      if (from === 'draining') await drain(id);
      await agent.drop();
      await becomes(id, 'offline');
      expect((await row(id)).drain_intent).toBe(intent);
      expect(world.handlers.calls.at(-1)).toBe(`linkLost ${id}`);
    });

    test.each(['online', 'draining'] as const)('%s: no frame for the read deadline', async (from) => {
      const [agent, id] = await busyHost();
      if (from === 'draining') await drain(id);
      await clock.pass(READ_DEADLINE_MS - 1_000);
      expect(await status(id)).toBe(from);
      await clock.pass(2_000);
      expect(await agent.closed).toMatchObject({ code: 4408 });
      await becomes(id, 'offline');
    });
  });

  test.each([
    ['drain', 1, 'draining'],
    ['uncordon', 0, 'online'],
  ] as const)(
    'offline → offline: %s is 200, only the stored intent changes, and it decides the next registration',
    async (act, intent, next) => {
      const [agent, id] = await busyHost();
      if (act === 'uncordon') await drain(id);
      await agent.drop();
      await becomes(id, 'offline');
      const answer = await (act === 'drain' ? drain(id) : uncordon(id));
      expect([answer.status, answer.body]).toMatchObject([200, { status: 'offline' }]);
      expect(await row(id)).toMatchObject({ status: 'offline', drain_intent: intent });
      await registersAgain(agent);
      expect(await status(id)).toBe(next);
    },
  );
});
