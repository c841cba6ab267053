import { randomUUID } from 'node:crypto';
import { softwareCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, ofOneProcess } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

/** Options of a host that encodes 1080p60 in each of its four slots while apps use the CPU. */
const FAST = { capacity: softwareCapacity({ codec_throughput: { h264: { max_pixel_rate_mpix_s: 1_000 } } }) };

describeDatabases('launch', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('201 with the session and a signaling token; then assign and start reach the host, and it runs', async () => {
    const agent = await world.host('hosta', FAST);
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
        idle_timeout_secs: 600,
        app_boot_timeout_secs: 300,
      },
      { type: 'session_start', session_id: session.id },
    ]);
    expect(await world.slotsUsed(agent)).toBe(1);
    expect(await world.activity('session.launched')).toEqual([
      {
        target_id: session.id,
        actor_user_id: world.people.alice.id,
        details: { app_id: app, host_id: agent.hostId },
      },
    ]);
  });

  test('a host setting that was saved a moment ago applies, though the agent has not reported it yet', async () => {
    const storage = { label: 'root', path: '/', total_mb: 100_000, available_mb: 60_000 };
    const agent = await world.host('hosta', {
      capacity: softwareCapacity({
        host: { cpu_cores: 8, mem_mb: 16_384, storage: [storage] },
        effective_settings: {
          encoder: 'openh264',
          home_root: '/homes',
          idle_timeout_secs: '120',
          app_boot_timeout_secs: '300',
          abr_floor_kbps: '',
        },
      }),
    });
    const overrides = {
      idle_timeout_secs: 45,
      app_boot_timeout_secs: 7,
      abr_floor_kbps: 1_234,
      home_root: '/srv/homes',
    };
    const path = `/v1/admin/hosts/${agent.hostId}/settings`;
    expect((await world.call(world.people.admin, 'PATCH', path, { body: { overrides } })).status).toBe(200);

    const app = await world.app({ managed_home: true });
    const { body } = await world.launch(world.people.alice, app);
    await world.until(body.session.id, 'running');
    const assigned = agent.commands.find((command) => command.type === 'session_assign');
    expect(assigned).toMatchObject({ idle_timeout_secs: 45, app_boot_timeout_secs: 7 });
    expect(assigned?.app.home?.ref).toMatch(/^\/srv\/homes\//);
    const row = await world.plane.platform.database.db
      .selectFrom('sessions')
      .select('stream_launch_floor_kbps')
      .where('id', '=', body.session.id)
      .executeTakeFirstOrThrow();
    expect(row.stream_launch_floor_kbps).toBe(1_234);
  });

  test('a saved setting that counts only after a restart, and an emptied home root, wait for the agent', async () => {
    const agent = await world.host('hosta');
    await world.plane.platform.database.db
      .updateTable('hosts')
      .set({ settings_overrides: JSON.stringify({ encoder: 'nvenc', home_root: '' }) })
      .execute();
    const { body } = await world.launch(world.people.alice, await world.app({ managed_home: true }));
    expect(body.session.host_id).toBe(agent.hostId);
    const row = await world.plane.platform.database.db
      .selectFrom('sessions')
      .innerJoin('storage_homes', 'storage_homes.host_id', 'sessions.host_id')
      .select(['sessions.encoder', 'storage_homes.ref'])
      .executeTakeFirstOrThrow();
    expect(row.encoder).toBe('openh264');
    expect(row.ref).toMatch(/^\/var\/lib\/service-agent\/homes\//);
  });

  ofOneProcess(
    'the 601st of a person within ten minutes is 429, before the body is read; others launch',
    async () => {
      const { alice, bob } = world.people;
      for (let n = 0; n < 600; n += 1) {
        expect((await world.launch(alice, randomUUID())).status).toBe(404);
      }
      const refused = await world.call(alice, 'POST', '/v1/sessions', { body: 'no JSON' });
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '600']);
      expect((await world.launch(bob, randomUUID())).status).toBe(404);
      await world.clock.pass(10 * 60_000);
      expect((await world.launch(alice, randomUUID())).status).toBe(404);
    },
  );

  describe('a launch is refused, in the order of the checks', () => {
    test.each([
      ['no app_id', {}],
      ['a malformed app_id', { app_id: 'nope' }],
      ['an unknown key', { app_id: randomUUID(), extra: 1 }],
      ['an odd width', { app_id: randomUUID(), stream: { width: 641 } }],
      ['a size out of bounds', { app_id: randomUUID(), stream: { height: 8000 } }],
      ['too many frames', { app_id: randomUUID(), stream: { fps: 241 } }],
      ['an unknown codec', { app_id: randomUUID(), stream: { codec: 'vp9' } }],
      ['a fraction', { app_id: randomUUID(), stream: { bitrate_kbps: 1.5 } }],
    ])('%s is 400', async (_what, body) => {
      const answer = await world.call(world.people.alice, 'POST', '/v1/sessions', { body });
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    });

    test('an unknown or disabled app is 404', async () => {
      expect((await world.launch(world.people.alice, randomUUID())).status).toBe(404);
      const app = await world.app({ enabled: false });
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('not_found');
    });

    test('a tile whose parent is disabled is 409 and names it', async () => {
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

    test('without an entitlement 403, for administrators too', async () => {
      await world.host('hosta');
      const app = await world.app({ entitle: 'none' });
      for (const person of [world.people.alice, world.people.admin])
        expect((await world.launch(person, app)).body.error?.code).toBe('forbidden');
    });

    test('an unknown profile is 400, after the checks of app and entitlement', async () => {
      const app = await world.app();
      const more = { profile_id: 'nope' };
      expect((await world.launch(world.people.alice, app, more)).body.error?.code).toBe('validation_failed');
      expect((await world.launch(world.people.alice, randomUUID(), more)).status).toBe(404);
      const closed = await world.app({ entitle: 'none' });
      expect((await world.launch(world.people.alice, closed, more)).status).toBe(403);
    });

    test('over the quota 409; 0 blocks; stopping does not count', async () => {
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

    test('the home is held by another session of the user: 409 with its id', async () => {
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
          await w.offline(agent);
        },
      ],
    ] as [string, (w: SessionsWorld) => Promise<void>][])(
      '%s: 503 no_host_available',
      async (_what, arrange) => {
        await arrange(world);
        const answer = await world.launch(world.people.alice, await world.app());
        expect([answer.status, answer.body.error?.code]).toEqual([503, 'no_host_available']);
        expect(answer.headers['retry-after']).toBeUndefined();
      },
    );

    test('a managed home where the host never said where homes lie', async () => {
      await world.host('hosta', {
        capacity: softwareCapacity({ effective_settings: { encoder: 'openh264' } }),
      });
      const app = await world.app({ managed_home: true });
      expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('no_host_available');
    });

    test('all busy: 503 capacity_exhausted with Retry-After 5', async () => {
      await world.host('hosta', slots(1));
      const app = await world.app();
      expect((await world.launch(world.people.alice, app)).status).toBe(201);
      const answer = await world.launch(world.people.bob, app);
      expect([answer.status, answer.body.error?.code]).toEqual([503, 'capacity_exhausted']);
      expect(answer.headers['retry-after']).toBe('5');
    });

    test('a codec that the placed host cannot encode is 409, and nothing is left', async () => {
      const agent = await world.host('hosta', FAST);
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

    test('a home for which no place can be formed is 500, and nothing is left', async () => {
      const agent = await world.host('hosta', {
        capacity: softwareCapacity({ effective_settings: { home_root: `/${'r'.repeat(505)}` } }),
      });
      const answer = await world.launch(world.people.alice, await world.app({ managed_home: true }));
      expect([answer.status, answer.body.error?.code]).toEqual([500, 'internal']);
      expect(await world.slotsUsed(agent)).toBe(0);
    });
  });
});
