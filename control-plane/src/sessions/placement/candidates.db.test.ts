import { SECOND_MS } from '@footlight/platform';
import type { SessionStateName } from '@footlight/protocol';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { addSession, describeDatabases, type Person } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const STALE_MS = 20 * SECOND_MS;

describeDatabases('which GPU a launch may take', (databases) => {
  let world: SessionsWorld;
  let host: FakeAgent;
  let app: string;
  let player: Person;
  let unvetoed: SessionsWorld;
  beforeAll(async () => {
    [world, unvetoed] = await Promise.all([
      openSessionsWorld(await databases.fresh()),
      openSessionsWorld(await databases.fresh(), undefined, { SERVICE_VRAM_MIN_FREE_MB: '0' }),
    ]);
    host = await world.host('hosta', {
      capacity: softwareCapacity({}, { vram_mb_total: 8_192, encode_slots_total: 8 }),
    });
    app = await world.app();
    player = world.people.alice;
    await world.call(world.people.admin, 'PATCH', `/v1/users/${player.id}`, {
      body: { max_concurrent_sessions: 50 },
    });
  });
  afterAll(() => Promise.all([world.close(), unvetoed.close()]));
  afterEach(async () => {
    const { db } = world.plane.platform.database;
    await db.updateTable('sessions').set({ state: 'stopped', ended_at: 1 }).execute();
    await db
      .updateTable('gpus')
      .set({ ...FREE, ...NO_SAMPLE })
      .execute();
    await db.updateTable('hosts').set(asReported).execute();
  });

  const FREE = { slots_used: 0, sessions_active: 0, gpu_index: 0, vendor: 'software', render_node: null };
  const NO_SAMPLE = { vram_mb_total: 8_192, vram_mb_used: null, vram_mb_free: null, vram_sampled_at: null };
  const reporting = (settings: object) => ({
    effective_settings: JSON.stringify({ encoder: 'openh264', home_root: '/homes', ...settings }),
  });
  const asReported = { ...reporting({}), features: JSON.stringify(['process_runtime']) };

  const gpuIs = (fields: object) =>
    world.plane.platform.database.db.updateTable('gpus').set(fields).execute();
  const hostIs = (fields: object) =>
    world.plane.platform.database.db.updateTable('hosts').set(fields).execute();
  async function preview(request: object = {}) {
    const body = { app_id: app, user_id: player.id, ...request };
    const answer = await world.call(world.people.admin, 'POST', '/v1/admin/placement/preview', { body });
    return answer.body;
  }
  /** Expects that a launch is placed, and that its preview gives the same result. */
  async function takes(request: { app_id?: string } = {}): Promise<void> {
    expect(await preview(request)).toMatchObject({ outcome: 'placed', status: 201, refusals: [] });
    expect((await world.launch(player, request.app_id ?? app)).status).toBe(201);
  }
  /** Expects that a launch is refused, and that its preview shows the reason. */
  async function refuses(
    code: 'no_host_available' | 'capacity_exhausted',
    why: { rule: string; have?: unknown; need?: unknown },
    request: { app_id?: string } = {},
  ): Promise<void> {
    const said = await preview(request);
    expect(said).toMatchObject({ outcome: code, status: 503, candidates: [] });
    expect(said.refusals).toMatchObject([{ host_id: host.hostId, ...why }]);
    const answer = await world.launch(player, request.app_id ?? app);
    expect([answer.status, answer.body.error?.code]).toEqual([503, code]);
    expect(answer.headers['retry-after']).toBe(code === 'capacity_exhausted' ? '5' : undefined);
  }

  describe('the host takes placements', () => {
    test('a managed home needs a home root', async () => {
      const app_id = await world.app({ managed_home: true });
      await takes({ app_id });
      await world.plane.platform.database.db.updateTable('sessions').set({ state: 'stopped' }).execute();
      await hostIs(reporting({ home_root: '' }));
      await refuses('no_host_available', { rule: 'capacity_detection', need: 'home_root' }, { app_id });
    });

    test('an app that is a process needs the process runtime, one with an image a host for images', async () => {
      const app_id = await world.app({ runtime_spec: { image: 'docker.io/library/debian:12' } });
      await hostIs({ features: '["images"]' });
      await refuses('no_host_available', { rule: 'runtime', need: 'process_runtime' });
      await takes({ app_id });
    });

    test('while no host runs images, an app with one is refused with a sentence that says so', async () => {
      const app_id = await world.app({ runtime_spec: { image: 'docker.io/library/debian:12' } });
      await hostIs({ features: '["process_runtime"]' });
      await refuses('no_host_available', { rule: 'runtime', need: 'images' }, { app_id });
      const { body } = await world.launch(player, app_id);
      expect(body.error).toHaveProperty(
        'message',
        'This app is a container image, and no host runs containers yet.',
      );
    });
  });

  describe('the encoder in effect', () => {
    test.each([
      ['none is set: any GPU', { encoder: '' }, { vendor: 'other', gpu_index: 1 }],
      ['openh264: any GPU', { encoder: 'openh264' }, { vendor: 'nvidia', gpu_index: 1 }],
      ['va on AMD', { encoder: 'va' }, { vendor: 'amd' }],
      ['va on Intel', { encoder: 'va' }, { vendor: 'intel' }],
      ['nvenc on NVIDIA', { encoder: 'nvenc' }, { vendor: 'nvidia' }],
      ['vulkan on gpu_index 0', { encoder: 'vulkan' }, { vendor: 'amd' }],
      ['the render node of the GPU', { render_node: '/dev/dri/a' }, { render_node: '/dev/dri/a' }],
      ['"" pins nothing', { render_node: '' }, { render_node: '/dev/dri/a' }],
      ['"software" pins nothing', { render_node: 'software' }, { render_node: '/dev/dri/a' }],
    ])('%s', async (_row, settings, gpu) => {
      await hostIs(reporting(settings));
      await gpuIs(gpu);
      await takes();
    });

    test.each([
      ['va on NVIDIA', { encoder: 'va' }, { vendor: 'nvidia' }, 'nvidia'],
      ['nvenc on AMD', { encoder: 'nvenc' }, { vendor: 'amd' }, 'amd'],
      ['vulkan on gpu_index 1', { encoder: 'vulkan' }, { vendor: 'amd', gpu_index: 1 }, 1],
      ['another render node', { render_node: '/dev/dri/a' }, { render_node: '/dev/dri/b' }, '/dev/dri/b'],
      ['a render node where the GPU has none', { render_node: '/dev/dri/a' }, {}, null],
    ])('not %s', async (_row, settings, gpu, have) => {
      await hostIs(reporting(settings));
      if (Object.keys(gpu).length > 0) await gpuIs(gpu);
      await refuses('no_host_available', { rule: 'encoder_binding', have });
    });
  });

  describe('slots', () => {
    test('as many as the app demands are free', async () => {
      await gpuIs({ slots_used: 6 });
      await takes({ app_id: await world.app({ default_encode_slots: 2 }) });
    });

    test('one too few is for now, fewer in all than it demands is for good', async () => {
      await gpuIs({ slots_used: 7 });
      const two = await world.app({ default_encode_slots: 2 });
      await refuses('capacity_exhausted', { rule: 'slots', have: 1, need: 2 }, { app_id: two });
      const nine = await world.app({ default_encode_slots: 9 });
      await refuses('no_host_available', { rule: 'slots', need: 9 }, { app_id: nine });
    });
  });

  describe('the VRAM veto', () => {
    const sample = (free: number | null, ageMs = 0, more: object = {}) =>
      gpuIs({ vram_mb_free: free, vram_sampled_at: world.clock.nowMs() - ageMs, ...more });
    /** Adds a session on the GPU. @param startedMsBeforeSample null: the session never started */
    async function beside(state: SessionStateName, startedMsBeforeSample: number | null): Promise<void> {
      const { db } = world.plane.platform.database;
      const startedAtMs = world.clock.nowMs() - (startedMsBeforeSample ?? 0);
      const id = await addSession(world, {
        appId: app,
        userId: world.people.bob.id,
        state,
        hostId: host.hostId as string,
        ...(startedMsBeforeSample !== null && { startedAtMs }),
      });
      const gpu = await db.selectFrom('gpus').select('id').executeTakeFirstOrThrow();
      await db.updateTable('sessions').set({ gpu_id: gpu.id, gpu_index: 0 }).where('id', '=', id).execute();
    }

    test('refuses below the floor, and not at it', async () => {
      await sample(1_024);
      await takes();
    });

    test('refuses one below the floor', async () => {
      await sample(1_023);
      await refuses('capacity_exhausted', { rule: 'vram', have: 1_023, need: 1_024 });
    });

    test.each([
      ['assigned', 'assigned', null],
      ['starting', 'starting', null],
      ['running, started after the sample', 'running', -1],
      ['running, started within the window before the sample', 'running', STALE_MS - 1],
      ['stopping, never started', 'stopping', null],
    ] as const)('debits a session that the sample cannot contain yet: %s', async (_row, state, started) => {
      await beside(state, started);
      await sample(2_047);
      await refuses('capacity_exhausted', { rule: 'vram', have: 1_023, need: 1_024 });
      await sample(2_048);
      await takes();
    });

    test.each([
      ['running, started a window before the sample', 'running', STALE_MS],
      ['stopped', 'stopped', null],
      ['failed', 'failed', -1],
    ] as const)(
      'debits no session that the sample contains, or that holds nothing: %s',
      async (_row, state, started) => {
        await beside(state, started);
        await sample(1_024);
        await takes();
      },
    );

    test('a sample that is as old as the window counts', async () => {
      await sample(0, STALE_MS);
      await refuses('capacity_exhausted', { rule: 'vram', have: 0 });
    });

    test.each([
      ['free is not known', () => sample(null)],
      ['there was no sample', () => gpuIs({ vram_mb_free: 0, vram_sampled_at: null })],
      ['the sample is older than the window', () => sample(0, STALE_MS + 1)],
      ['the whole VRAM is not above the floor', () => sample(0, 0, { vram_mb_total: 1_024 })],
    ])('abstains where %s', async (_row, given) => {
      await given();
      await takes();
    });

    test('a console is exempt from it', async () => {
      await sample(0);
      const launched = world.plane.sessions.consoles.launch({
        hostId: host.hostId as string,
        userId: player.id,
        appId: app,
        topology: 'dual_output',
      });
      expect(typeof (await launched)).toBe('string');
    });

    test('a floor of 0 turns it off', async () => {
      await unvetoed.host('hosta', { capacity: softwareCapacity({}, { vram_mb_total: 8_192 }) });
      await unvetoed.plane.platform.database.db
        .updateTable('gpus')
        .set({ vram_mb_free: 0, vram_sampled_at: unvetoed.clock.nowMs() })
        .execute();
      expect((await unvetoed.launch(unvetoed.people.alice, await unvetoed.app())).status).toBe(201);
    });
  });
});
