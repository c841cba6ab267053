import { gpuCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

describeDatabases('placement', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('takes the GPU with the most free slots', async () => {
    await world.host('hosta', slots(2));
    const wide = await world.host('hostb', slots(4));
    const { body } = await world.launch(world.people.alice, await world.app());
    expect(body.session.host_id).toBe(wide.hostId);
  });

  test('the order: most free slots, most free VRAM with the unknown last, fewest sessions, then the id', async () => {
    const { db } = world.plane.platform.database;
    const agent = await world.host('hosta', { capacity: gpuCapacity(7) });
    const app = await world.app();
    const gpus = await db.selectFrom('gpus').selectAll().orderBy('gpu_index').execute();
    const set = (index: number, fields: object) =>
      db.updateTable('gpus').set(fields).where('gpu_index', '=', index).execute();
    const now = world.clock.nowMs();
    for (const { gpu_index } of gpus) await set(gpu_index, { slots_used: 4, sessions_active: 4 });
    await set(0, { sessions_active: 5 });
    await set(1, { vram_mb_free: 24_000, vram_sampled_at: now - 60_000 });
    await set(2, { vram_mb_free: 5_000, vram_sampled_at: now });
    await set(3, { vram_mb_free: 6_000, vram_sampled_at: now });
    await set(6, { slots_used: 3, sessions_active: 3 });
    const answer = await world.call(world.people.admin, 'POST', '/v1/admin/placement/preview', {
      body: { app_id: app, user_id: world.people.alice.id },
    });
    // A sample that is too old is ignored, so the GPUs 1, 4 and 5 differ only by their ids.
    const alike = gpus.filter(({ gpu_index }) => [1, 4, 5].includes(gpu_index));
    const byId = alike.sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ gpu_index }) => gpu_index);
    expect(answer.body.candidates.map(({ gpu_index }: { gpu_index: number }) => gpu_index)).toEqual([
      6,
      3,
      2,
      ...byId,
      0,
    ]);
    const { body } = await world.launch(world.people.alice, app);
    const placed = await db
      .selectFrom('sessions')
      .select(['gpu_index', 'host_id'])
      .where('id', '=', body.session.id)
      .executeTakeFirstOrThrow();
    expect(placed).toEqual({ gpu_index: 6, host_id: agent.hostId });
  });

  test('locality: the host of the newest home comes first, unless it is full', async () => {
    const local = await openSessionsWorld(await databases.fresh(), undefined, {
      SERVICE_PLACEMENT_POLICY: 'locality',
    });
    const home = await local.host('hosta', slots(1));
    const app = await local.app({ managed_home: true });
    const first = await local.running(local.people.alice, app);
    const wide = await local.host('hostb', slots(8));
    await local.call(local.people.alice, 'DELETE', `/v1/sessions/${first.id}`);
    await local.until(first.id, 'stopped');
    const again = await local.launch(local.people.alice, app);
    expect(again.body.session.host_id).toBe(home.hostId);
    const other = await local.launch(local.people.bob, app);
    expect(other.body.session.host_id).toBe(wide.hostId);
    await local.call(local.people.alice, 'DELETE', `/v1/sessions/${again.body.session.id}`);
    await local.until(again.body.session.id, 'stopped');
    await local.running(local.people.bob, await local.app());
    await local.close();
  });

  test('counts what an app demands', async () => {
    const agent = await world.host('hosta', slots(4));
    const big = await world.app({ default_encode_slots: 3 });
    expect((await world.launch(world.people.alice, big)).status).toBe(201);
    expect((await world.launch(world.people.bob, big)).body.error?.code).toBe('capacity_exhausted');
    expect((await world.launch(world.people.bob, await world.app())).status).toBe(201);
    expect(await world.slotsUsed(agent)).toBe(4);
  });

  test('honours the veto of a fresh VRAM sample, and debits what has just started', async () => {
    const agent = await world.host('hosta', {
      capacity: gpuCapacity(1, { effective_settings: { encoder: 'nvenc' } }),
    });
    agent.heartbeat({ ts: 1, gpu_vram: [{ index: 0, used_mb: 22_000, free_mb: 2_000 }] });
    await agent.waitFor('heartbeat_ack', (message) => message.echo === 1);
    await Promise.all(world.planes.map(({ platform }) => platform.periodicWriter.flush()));
    const app = await world.app();
    expect((await world.launch(world.people.alice, app)).status).toBe(201);
    expect((await world.launch(world.people.bob, app)).body.error?.code).toBe('capacity_exhausted');
    await world.pass(25_000, agent);
    expect((await world.launch(world.people.bob, app)).status).toBe(201);
  });
});
