import { randomUUID } from 'node:crypto';
import { gpuCapacity, softwareCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { beforeTransactionOf } from '../testing/before-transaction.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('launch', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const slots = (encode_slots_total: number) => {
    const capacity = softwareCapacity();
    return { capacity: { ...capacity, gpus: [{ ...capacity.gpus[0]!, encode_slots_total }] } };
  };

  test('201 with the session and a signaling token; then assign and start reach the host, and it runs', async () => {
    const agent = await world.host('hosta');
    const app = await world.app();
    const { status, body } = await world.launch(world.people.alice, app);
    expect(status).toBe(201);
    expect(body.session).toMatchObject({
      user_id: world.people.alice.id,
      app_id: app,
      host_id: agent.hostId,
      profile_id: '1080p60',
      stream_profile_id: '1080p60-h264',
      codec_decision: { result_rung: '1080p60-h264', result_codec: 'h264', override: null, floor: false },
      stream: {
        width: 1920,
        height: 1080,
        fps: 60,
        bitrate_kbps: 8000,
        codec: 'h264',
        h264_profile: 'constrained-baseline',
        mic: false,
        recording: false,
        rungs: [
          [1920, 1080],
          [1600, 900],
          [1280, 720],
        ],
      },
    });
    expect(body.signaling.token).toMatch(/^[0-9a-f]{64}$/);
    expect(body.signaling.url).toMatch(/^ws:\/\/.*\/v1\/signal$/);
    expect(body.signaling.ice_servers).toEqual([]);
    const session = await world.until(body.session.id, 'running');
    expect(session.started_at).not.toBeNull();
    expect(agent.commands.filter((command) => 'session_id' in command)).toMatchObject([
      {
        type: 'session_assign',
        session_id: session.id,
        gpu_index: 0,
        app: { image: '', args: ['demo'], env: {}, mounts: [], gpu: false, label: 'Demo' },
        stream: { width: 1920, audio: true, mic: false, abr_floor_kbps: 3000, playout0_ms: 50 },
        resources: { encode_slots: 1, vram_mb: 0 },
        video_topology: 'stream_only',
        idle_timeout_secs: 120,
        app_boot_timeout_secs: 300,
      },
      { type: 'session_start', session_id: session.id },
    ]);
    expect(await world.slotsUsed(agent)).toBe(1);
    expect(await world.audit('session.launched')).toEqual([
      {
        target_id: session.id,
        actor_user_id: world.people.alice.id,
        details: { app_id: app, host_id: agent.hostId },
      },
    ]);
  });

  describe('rows of the admission, in their order', () => {
    test.each([
      ['no app_id', {}],
      ['a malformed app_id', { app_id: 'nope' }],
      ['an unknown key', { app_id: randomUUID(), extra: 1 }],
      ['an odd width', { app_id: randomUUID(), stream: { width: 641 } }],
      ['a size out of bounds', { app_id: randomUUID(), stream: { height: 8000 } }],
      ['too many frames', { app_id: randomUUID(), stream: { fps: 241 } }],
      ['an unknown codec', { app_id: randomUUID(), stream: { codec: 'vp9' } }],
      ['a fraction', { app_id: randomUUID(), stream: { bitrate_kbps: 1.5 } }],
    ])('1: %s is 400', async (_what, body) => {
      const answer = await world.call(world.people.alice, 'POST', '/v1/sessions', { body });
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    });

    test('2: an unknown or disabled app is 404', async () => {
      expect((await world.launch(world.people.alice, randomUUID())).status).toBe(404);
      const app = await world.app({ enabled: false });
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('not_found');
    });

    test('3: a tile whose parent is disabled is 409 and names it', async () => {
      const parent = await world.app({ name: 'Launcher', enabled: false });
      const tile = await world.app({
        parent_app_id: parent,
        external_source: 'steam',
        external_id: '440',
        runtime_spec: {},
      });
      const answer = await world.launch(world.people.alice, tile);
      expect([answer.status, answer.body.error?.code]).toEqual([409, 'parent_app_disabled']);
      expect(answer.text).toContain('Launcher');
    });

    test('4: without an entitlement 403, for administrators too', async () => {
      await world.host('hosta');
      const app = await world.app({ entitle: 'none' });
      for (const person of [world.people.alice, world.people.admin])
        expect((await world.launch(person, app)).body.error?.code).toBe('forbidden');
    });

    test('8: an unknown profile is 400, after 2 and 4', async () => {
      const app = await world.app();
      const more = { profile_id: 'nope' };
      expect((await world.launch(world.people.alice, app, more)).body.error?.code).toBe('validation_failed');
      expect((await world.launch(world.people.alice, randomUUID(), more)).status).toBe(404);
      const closed = await world.app({ entitle: 'none' });
      expect((await world.launch(world.people.alice, closed, more)).status).toBe(403);
    });

    test('12: over the quota 409; 0 blocks; stopping does not count', async () => {
      await world.host('hosta');
      const app = await world.app();
      const quota = (max_concurrent_sessions: number) =>
        world.plane.platform.database.db
          .updateTable('users')
          .set({ max_concurrent_sessions })
          .where('id', '=', world.people.alice.id)
          .execute();
      await quota(0);
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('session_quota_exceeded');
      await quota(1);
      const first = await world.launch(world.people.alice, app);
      expect(first.status).toBe(201);
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('session_quota_exceeded');
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${first.body.session.id}`);
      expect((await world.launch(world.people.alice, app)).status).toBe(201);
    });

    test('13: the home is held by another session of the user: 409 with its id', async () => {
      await world.host('hosta');
      const app = await world.app({ managed_home: true });
      const first = await world.launch(world.people.alice, app);
      const second = await world.launch(world.people.alice, app);
      expect([second.status, second.body.error]).toMatchObject([
        409,
        { code: 'home_in_use', session_id: first.body.session.id },
      ]);
      expect((await world.launch(world.people.bob, app)).status).toBe(201);
    });

    test.each([
      ['no host at all', async () => {}],
      [
        'a draining host',
        async (w: SessionsWorld) => {
          const agent = await w.host('hosta');
          await w.call(w.people.admin, 'POST', `/v1/hosts/${agent.hostId}/drain`);
        },
      ],
      [
        'a host without the process runtime',
        async (w: SessionsWorld) => void (await w.host('hosta', { features: [] })),
      ],
      ['too few slots in all', async (w: SessionsWorld) => void (await w.host('hosta', slots(0)))],
      [
        'an offline host',
        async (w: SessionsWorld) => {
          const agent = await w.host('hosta');
          await agent.close();
          await expect
            .poll(async () => (await w.call(w.people.admin, 'GET', `/v1/hosts/${agent.hostId}`)).body.status)
            .toBe('offline');
        },
      ],
    ] as [string, (w: SessionsWorld) => Promise<void>][])(
      '14: %s: 503 no_host_available',
      async (_what, arrange) => {
        await arrange(world);
        const answer = await world.launch(world.people.alice, await world.app());
        expect([answer.status, answer.body.error?.code]).toEqual([503, 'no_host_available']);
        expect(answer.headers['retry-after']).toBeUndefined();
      },
    );

    test('14: a managed home where the host never said where homes lie', async () => {
      await world.host('hosta', {
        capacity: softwareCapacity({ effective_settings: { encoder: 'openh264' } }),
      });
      const app = await world.app({ managed_home: true });
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('no_host_available');
    });

    test('15: all busy: 503 capacity_exhausted with Retry-After 5', async () => {
      await world.host('hosta', slots(1));
      const app = await world.app();
      expect((await world.launch(world.people.alice, app)).status).toBe(201);
      const answer = await world.launch(world.people.bob, app);
      expect([answer.status, answer.body.error?.code]).toEqual([503, 'capacity_exhausted']);
      expect(answer.headers['retry-after']).toBe('5');
    });

    test('17: a codec that the placed host cannot encode is 409, and nothing is left', async () => {
      const agent = await world.host('hosta');
      const answer = await world.launch(world.people.alice, await world.app({ managed_home: true }), {
        stream: { codec: 'av1' },
      });
      expect([answer.status, answer.body.error?.code]).toEqual([409, 'conflict']);
      expect(await world.list()).toEqual([]);
      expect(await world.slotsUsed(agent)).toBe(0);
      expect(
        await world.plane.platform.database.db.selectFrom('storage_homes').selectAll().execute(),
      ).toEqual([]);
    });

    test('18: a home for which no place can be formed is 500, and nothing is left', async () => {
      const agent = await world.host('hosta', {
        capacity: softwareCapacity({ effective_settings: { home_root: `/${'r'.repeat(505)}` } }),
      });
      const answer = await world.launch(world.people.alice, await world.app({ managed_home: true }));
      expect([answer.status, answer.body.error?.code]).toEqual([500, 'internal']);
      expect(await world.slotsUsed(agent)).toBe(0);
    });
  });

  describe('homes', () => {
    test('are made by the first launch, below the root of the host, and used again', async () => {
      const agent = await world.host('hosta');
      const app = await world.app({ name: 'Space Game', managed_home: true });
      const first = await world.running(world.people.alice, app);
      const ref = `/var/lib/service-agent/homes/alice-${world.people.alice.id.slice(0, 8)}/space-game-${app.slice(0, 8)}`;
      expect(agent.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        app: { home: { provider: 'local', ref, container_path: '/home/service' } },
      });
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${first.id}`);
      await world.until(first.id, 'stopped');
      await world.plane.platform.database.db.updateTable('storage_homes').set({ gc_after: 5 }).execute();
      await world.running(world.people.alice, app);
      const homes = await world.plane.platform.database.db.selectFrom('storage_homes').selectAll().execute();
      expect(homes).toMatchObject([
        { ref, provider: 'local', user_id: world.people.alice.id, gc_after: null },
      ]);
    });

    test('the size that the last report names is kept', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app({ managed_home: true }));
      agent.reportState(session.id, 'stopped', { reason: 'idle_timeout', home_bytes: 4096 });
      await world.until(session.id, 'stopped');
      const homes = await world.plane.platform.database.db.selectFrom('storage_homes').selectAll().execute();
      expect(homes[0]?.bytes_used).toBe(4096);
    });

    test('an app without one has none', async () => {
      const agent = await world.host('hosta');
      await world.running(world.people.alice, await world.app());
      expect(agent.commands.find((command) => command.type === 'session_assign')).not.toHaveProperty(
        'app.home',
      );
    });
  });

  describe('runtime presets', () => {
    const preset = async (fields: object): Promise<string> => {
      const answer = await world.call(world.people.admin, 'POST', '/v1/admin/runtime-presets', {
        body: { name: 'Preset', ...fields },
      });
      if (answer.status !== 201) throw new Error(`no preset: ${answer.text}`);
      return answer.body.runtime_preset.id as string;
    };
    const BASE = {
      image: 'registry.example/base@sha256:00',
      args: ['--preset'],
      env: { A: 'preset', B: 'preset' },
      mounts: ['/srv/games:/games:ro'],
      network: 'none',
    };

    test('lie under what the app says, anew at each launch, and the app stays as it is', async () => {
      const agent = await world.host('hosta', slots(8));
      const { admin, alice } = world.people;
      const presetId = await preset(BASE);
      const spec = {
        args: ['app'],
        env: { B: 'app' },
        mounts: ['/srv/mods:/mods'],
        gpu: true,
        network: 'bridge',
      };
      const app = await world.app({ runtime_spec: spec, runtime_preset_id: presetId });
      const first = await world.running(alice, app);
      const assigned = (id: string) =>
        agent.commands.find((command) => command.type === 'session_assign' && command.session_id === id);
      expect(assigned(first.id)).toMatchObject({
        app: {
          image: BASE.image,
          args: ['--preset', 'app'],
          env: { A: 'preset', B: 'app' },
          mounts: ['/srv/games:/games:ro', '/srv/mods:/mods'],
          network: 'bridge',
          gpu: true,
        },
      });
      const stored = await world.call(admin, 'GET', `/v1/apps/${app}`);
      expect(stored.body.app.runtime_spec).toEqual(spec);

      await world.call(admin, 'PATCH', `/v1/admin/runtime-presets/${presetId}`, { body: { args: [] } });
      const second = await world.running(alice, app);
      expect(assigned(second.id)).toMatchObject({ app: { args: ['app'] } });
    });

    test("a tile takes its parent's, and one variable more", async () => {
      const agent = await world.host('hosta', slots(8));
      const parent = await world.app({
        runtime_spec: { env: { B: 'parent' } },
        runtime_preset_id: await preset(BASE),
        default_encode_slots: 2,
      });
      const tile = await world.app({
        name: 'Tile',
        parent_app_id: parent,
        external_source: 'steam',
        external_id: '440',
        runtime_spec: {},
        default_encode_slots: 7,
      });
      await world.running(world.people.alice, tile);
      expect(agent.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        app: {
          image: BASE.image,
          args: ['--preset'],
          env: { A: 'preset', B: 'parent', STEAM_STARTUP_FLAGS: '-bigpicture -applaunch 440' },
          mounts: BASE.mounts,
          network: 'none',
        },
        resources: { encode_slots: 2 },
      });
    });
  });

  describe('tiles', () => {
    const tile = async (parent: string) =>
      world.app({
        name: 'Tile',
        parent_app_id: parent,
        external_source: 'steam',
        external_id: '440',
        runtime_spec: {},
      });

    test("run what the parent runs, with what starts them, in the parent's home and on its host", async () => {
      const home = await world.host('hosta', slots(2));
      await world.host('hostb', slots(8));
      const parent = await world.app({
        name: 'Launcher',
        managed_home: true,
        runtime_spec: { args: ['launcher'] },
      });
      const child = await tile(parent);
      // 10: nothing of the parent is there yet.
      const early = await world.launch(world.people.alice, child);
      expect([early.status, early.body.error?.code]).toEqual([409, 'home_not_provisioned']);

      await world.plane.platform.database.db
        .insertInto('storage_homes')
        .values({
          id: randomUUID(),
          user_id: world.people.alice.id,
          app_id: parent,
          host_id: home.hostId,
          provider: 'local',
          ref: '/homes/of/alice',
          bytes_used: 0,
          created_at: 1,
          last_used_at: 1,
          gc_after: null,
        })
        .execute();
      const { body } = await world.launch(world.people.alice, child);
      expect(body.session).toMatchObject({ app_id: child, host_id: home.hostId });
      await world.until(body.session.id, 'running');
      expect(home.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        app: {
          args: ['launcher'],
          env: { STEAM_STARTUP_FLAGS: '-bigpicture -applaunch 440' },
          home: { ref: '/homes/of/alice' },
          tile: { source: 'steam', external_id: '440' },
          label: 'Tile',
        },
      });
      // 13: the home family is one.
      const second = await world.launch(world.people.alice, parent);
      expect(second.body.error).toMatchObject({ code: 'home_in_use', session_id: body.session.id });
    });
  });

  describe('placement', () => {
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
      // A sample that is too old says nothing, so 1, 4 and 5 differ by their ids alone.
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

    test('locality: the host of the newest home goes first, and a full one gives way', async () => {
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
      await world.plane.fleet.links.flush();
      const app = await world.app();
      expect((await world.launch(world.people.alice, app)).status).toBe(201);
      expect((await world.launch(world.people.bob, app)).body.error?.code).toBe('capacity_exhausted');
      await world.pass(25_000, agent);
      expect((await world.launch(world.people.bob, app)).status).toBe(201);
    });
  });

  describe('races', () => {
    test('200 parallel launches with quota 3: exactly 3', async () => {
      const agent = await world.host('hosta', slots(64));
      const app = await world.app();
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => world.launch(world.people.alice, app)),
      );
      const codes = answers.map((answer) => (answer.status === 201 ? 'launched' : answer.body.error?.code));
      expect(codes.filter((code) => code === 'launched')).toHaveLength(3);
      expect(codes.filter((code) => code === 'session_quota_exceeded')).toHaveLength(197);
      expect(await world.slotsUsed(agent)).toBe(3);
    });

    test('200 parallel launches while the quota is lowered from 3 to 1: never more than 3, then none', async () => {
      const agent = await world.host('hosta', slots(64));
      const app = await world.app();
      const lower = () =>
        world.call(world.people.admin, 'PATCH', `/v1/users/${world.people.alice.id}`, {
          body: { max_concurrent_sessions: 1 },
        });
      const launches = Array.from({ length: 200 }, (_, i) => {
        if (i === 100) void lower();
        return world.launch(world.people.alice, app);
      });
      const answers = await Promise.all(launches);
      const launched = answers.filter(({ status }) => status === 201).length;
      expect(launched).toBeGreaterThanOrEqual(1);
      expect(launched).toBeLessThanOrEqual(3);
      expect(await world.slotsUsed(agent)).toBe(launched);
      expect((await lower()).status).toBe(200);
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('session_quota_exceeded');
    });

    test('an account that launches while it is deleted: either it has a session, or it is gone', async () => {
      const agent = await world.host('hosta', slots(64));
      const app = await world.app();
      let running = 0;
      for (let round = 0; round < 10; round += 1) {
        const person = await world.addPerson(`leaver-${round}`);
        const [launch, removal] = await Promise.all([
          world.launch(person, app),
          world.call(world.people.admin, 'DELETE', `/v1/users/${person.id}`),
        ]);
        if (removal.status === 204) expect([401, 403]).toContain(launch.status);
        else expect([launch.status, removal.status, removal.body.error.code]).toEqual([201, 409, 'conflict']);
        running += launch.status === 201 ? 1 : 0;
      }
      expect(await world.slotsUsed(agent)).toBe(running);
    });

    test('ten launches, one slot, one winner', async () => {
      const agent = await world.host('hosta', slots(1));
      const app = await world.app();
      const people = await Promise.all(
        Array.from({ length: 10 }, (_, index) => world.addPerson(`player${index}`)),
      );
      const answers = await Promise.all(people.map((person) => world.launch(person, app)));
      const codes = answers.map((answer) => (answer.status === 201 ? 'launched' : answer.body.error?.code));
      expect(codes.sort()).toEqual([...Array(9).fill('capacity_exhausted'), 'launched']);
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test('a launch that is refused on its GPU leaves the slot to those that came with it', async () => {
      const agent = await world.host('hosta', slots(1));
      const app = await world.app();
      const player = await world.addPerson('player');
      const answers = await Promise.all([
        world.launch(world.people.alice, app, { stream: { codec: 'av1' } }),
        world.launch(player, app),
      ]);
      expect(answers.map((answer) => answer.status)).toEqual([409, 201]);
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test('a launch that fails takes down none of those that came with it', async () => {
      const agent = await world.host('hosta', slots(4));
      const [app, broken] = [await world.app(), await world.app({ name: 'Broken' })];
      const { db } = world.plane.platform.database;
      // What no release writes: reading it throws.
      await db.updateTable('apps').set({ runtime_spec: '{' }).where('id', '=', broken).execute();
      const player = await world.addPerson('player');
      const answers = await Promise.all([
        world.launch(world.people.alice, broken),
        world.launch(player, app),
      ]);
      expect(answers.map((answer) => answer.status)).toEqual([500, 201]);
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test('as many launches as slots over several GPUs: none refused, none overbooked', async () => {
      const agents = await Promise.all([world.host('hosta', slots(4)), world.host('hostb', slots(4))]);
      const app = await world.app();
      const people = await Promise.all(
        Array.from({ length: 8 }, (_, index) => world.addPerson(`player${index}`)),
      );
      const answers = await Promise.all(people.map((person) => world.launch(person, app)));
      expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(201));
      expect(await Promise.all(agents.map((agent) => world.slotsUsed(agent)))).toEqual([4, 4]);
    });

    test('11: a revocation between the check and the commit wins, and nothing half-made is left', async () => {
      const agent = await world.host('hosta');
      const app = await world.app();
      const { admin, alice } = world.people;
      const entitlements = `/v1/admin/apps/${app}/entitlements`;
      const [row] = (await world.call(admin, 'GET', entitlements)).body.items;
      const answer = await beforeTransactionOf(
        world.plane.platform.database,
        () => world.launch(alice, app),
        async () => {
          expect((await world.call(admin, 'DELETE', `${entitlements}/${row.id}`)).status).toBe(204);
        },
      );
      expect([answer.status, answer.body.error?.code]).toEqual([403, 'forbidden']);
      expect(await world.list()).toEqual([]);
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('a session that was committed first outlives the revocation', async () => {
      await world.host('hosta');
      const app = await world.app();
      const { admin, alice } = world.people;
      const session = await world.running(alice, app);
      const entitlements = `/v1/admin/apps/${app}/entitlements`;
      const [row] = (await world.call(admin, 'GET', entitlements)).body.items;
      await world.call(admin, 'DELETE', `${entitlements}/${row.id}`);
      expect((await world.session(session.id)).state).toBe('running');
      expect((await world.launch(alice, app)).status).toBe(403);
    });
  });
});
