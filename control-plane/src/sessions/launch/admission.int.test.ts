import { randomUUID } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ProfileWorld, profileWorld } from '../../profiles/testing/world.ts';
import { addHost, addSession, describeDatabases, type Person } from '../../testing/index.ts';
import { beforeTransactionOf } from '../testing/before-transaction.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

/** Of software with 64 slots: a session gets the 128th part, which is enough for 1080p60. */
const ROOMY_MPIXEL_S = 128 * 125;

describeDatabases('admission', (databases) => {
  let world: SessionsWorld;
  let catalog: ProfileWorld;
  let hostA: FakeAgent;
  let app: string;
  let alice: Person;
  let admin: Person;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    catalog = profileWorld(world);
    const capacity = softwareCapacity(
      { codecs: ['h264', 'av1'], codec_throughput: { h264: { max_pixel_rate_mpix_s: ROOMY_MPIXEL_S } } },
      { encode_slots_total: 64 },
    );
    hostA = await world.host('hosta', { capacity });
    admin = world.people.admin;
    app = await world.app();
    await as(admin, 'PATCH', `/v1/users/${admin.id}`, { max_concurrent_sessions: 50 });
    await catalog.rung('alpha-av1', { codec: 'av1', nominal_bitrate_kbps: 6_000 });
    await catalog.rung('alpha-h264', { nominal_bitrate_kbps: 8_000, abr_floor_kbps: 2_000, playout0_ms: 40 });
    await catalog.profile('alpha', ['alpha-av1', 'alpha-h264']);
    await catalog.profile('secret', ['alpha-h264'], { visibility: 'internal' });
  });
  afterAll(() => world.close());

  let people = 0;
  beforeEach(async () => {
    people += 1;
    alice = await world.addPerson(`alice${people}`);
  });
  afterEach(async () => {
    await policy({ user_overrides_allowed: true, global_default_profile_id: null });
  });

  const db = () => world.plane.platform.database.db;
  async function as(caller: Person, method: string, url: string, body?: object) {
    const answer = await world.call(caller, method, url, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.text}`);
    return answer.body;
  }
  const policy = (body: object) => as(admin, 'PATCH', '/v1/admin/profile-policy', body);
  const probe = (capabilities: object) =>
    as(alice, 'POST', '/v1/me/devices', { device_key: 'k', capabilities });
  const launch = (request: Record<string, unknown> = {}, of = app, person = alice) =>
    world.launch(person, of, request);
  const refused = async (request: Record<string, unknown>, of = app) => {
    const answer = await launch(request, of);
    return [answer.status, answer.body.error?.code];
  };

  describe('checks of the profile choice', () => {
    test('refuses a choice where the app forces its profile', async () => {
      const forced = await world.app({ default_profile_id: 'alpha', profile_policy: 'force' });
      expect(await refused({ profile_id: '720p60' }, forced)).toEqual([409, 'conflict']);
      expect(await refused({ stream: { fps: 30 } }, forced)).toEqual([409, 'conflict']);
      expect((await launch({ profile_id: 'alpha' }, forced)).body.session.profile_id).toBe('alpha');
      expect((await launch({ profile_id: '720p60' }, forced, admin)).status).toBe(201);
    });

    test('refuses a choice where overrides are disallowed', async () => {
      await policy({ user_overrides_allowed: false, global_default_profile_id: 'alpha' });
      expect(await refused({ profile_id: '720p60' })).toEqual([409, 'conflict']);
      expect(await refused({ stream: { bitrate_kbps: 500 } })).toEqual([409, 'conflict']);
      expect((await launch()).body.session.profile_id).toBe('alpha');
    });

    test('a profile outside the allow-list is refused before an unknown one', async () => {
      const limited = await world.app({ launchable_profile_ids: ['alpha'] });
      expect(await refused({ profile_id: '720p60' }, limited)).toEqual([
        409,
        'profile_not_launchable_for_app',
      ]);
      expect(await refused({ profile_id: 'nope' }, limited)).toEqual([409, 'profile_not_launchable_for_app']);
      expect((await launch({}, limited)).body.session.profile_id).toBe('alpha');
    });

    test("7: the app's own, before the person's and the instance's, unless it only inherits", async () => {
      await policy({ global_default_profile_id: '1080p60' });
      await as(alice, 'PATCH', '/v1/me/profile-preferences', { default_profile_id: '720p60' });
      const served = async (profile_policy: string) => {
        const pinned = await world.app({ default_profile_id: 'alpha', profile_policy });
        return (await launch({}, pinned)).body.session.profile_id;
      };
      expect(await served('prefer')).toBe('alpha');
      expect(await served('force')).toBe('alpha');
      expect(await served('inherit')).toBe('720p60');
    });

    test("7: a person's default outside the app's list is passed over", async () => {
      await policy({ global_default_profile_id: 'alpha' });
      await as(alice, 'PATCH', '/v1/me/profile-preferences', { default_profile_id: '720p60' });
      const limited = await world.app({ launchable_profile_ids: ['alpha'] });
      expect((await launch({}, limited)).body.session.profile_id).toBe('alpha');
    });

    test('without a choice: the recommended profile, within the encoders of the hosts and the limits of the app', async () => {
      // Each by a person of its own, below the quota.
      const profileOf = async (id: string) => {
        const answer = await launch({}, id, await world.addPerson(`player${randomUUID()}`));
        return answer.body.session.profile_id;
      };
      const launchable_profile_ids = ['1080p60', '720p60'];
      const plain = await world.app({ launchable_profile_ids });
      const size = { default_width: 1280, default_height: 720, default_fps: 30 };
      const small = await world.app({ launchable_profile_ids, ...size });
      const encodes = async (figure: number) => {
        const codec_throughput = JSON.stringify({ h264: { max_pixel_rate_mpix_s: figure } });
        await db().updateTable('hosts').set({ codec_throughput }).execute();
        await world.pass(5_000, hostA);
      };
      expect([await profileOf(plain), await profileOf(small)]).toEqual(['1080p60', '720p60']);
      await encodes(ROOMY_MPIXEL_S - 128);
      expect([await profileOf(plain), await profileOf(small)]).toEqual(['720p60', '720p60']);
      await encodes(ROOMY_MPIXEL_S);
      expect(await profileOf(plain)).toBe('1080p60');
    });

    test("7: the person's default, then the instance's, then the recommended one", async () => {
      expect((await launch()).body.session.profile_id).toBe('1080p60');
      await policy({ global_default_profile_id: '720p60' });
      expect((await launch()).body.session.profile_id).toBe('720p60');
      await as(alice, 'PATCH', '/v1/me/profile-preferences', { default_profile_id: 'alpha' });
      expect((await launch()).body.session.profile_id).toBe('alpha');
    });

    test('a profile not for users, or ineligible by the probe, is refused', async () => {
      expect(await refused({ profile_id: 'secret' })).toEqual([409, 'profile_ineligible']);
      await probe({ bandwidth_kbps: 1_000 });
      expect(await refused({ profile_id: '1080p60' })).toEqual([409, 'profile_ineligible']);
      expect(await refused({ profile_id: '1080p60', stream: { fps: 10 } })).toEqual([
        409,
        'profile_ineligible',
      ]);
    });

    test('a probe older than 30 days refuses nothing', async () => {
      await probe({ bandwidth_kbps: 1_000 });
      await db()
        .updateTable('devices')
        .set({ capabilities: JSON.stringify({ bandwidth_kbps: 1_000, measured_at: '2020-01-01T00:00:00Z' }) })
        .where('user_id', '=', alice.id)
        .execute();
      expect((await launch({ profile_id: '1080p60' })).status).toBe(201);
    });
  });

  describe('checks beyond the profile', () => {
    let tiles = 0;
    /** A host that no agent stands behind, until the end of the test. */
    let away: string;
    beforeEach(async () => {
      away = await addHost(world, 'away');
    });
    afterEach(async () => {
      await db().deleteFrom('hosts').where('id', '=', away).execute();
    });
    const nobodysHome = (appId: string, hostId: string) => ({
      id: randomUUID(),
      user_id: alice.id,
      app_id: appId,
      host_id: hostId,
      provider: 'local' as const,
      ref: `/homes/${randomUUID()}`,
      bytes_used: 0,
      created_at: 1,
      last_used_at: 1,
      gc_after: null,
    });
    const tileOf = (parent: string, fields: object = {}) =>
      world.app({
        parent_app_id: parent,
        external_source: 'steam',
        external_id: String(++tiles),
        runtime_spec: {},
        ...fields,
      });
    const homes = () =>
      db().selectFrom('storage_homes').selectAll().where('user_id', '=', alice.id).execute();
    const sessions = () => db().selectFrom('sessions').selectAll().where('user_id', '=', alice.id).execute();

    test("10: a tile whose parent's home the person has nowhere is 409, and nothing is made", async () => {
      const tile = await tileOf(await world.app({ managed_home: true }));
      expect(await refused({}, tile)).toEqual([409, 'home_not_provisioned']);
      expect(await homes()).toEqual([]);
      expect(await sessions()).toEqual([]);
    });

    test('a home as an engine volume with an app that is a process is 409', async () => {
      const homed = await world.app({ managed_home: true });
      await as(admin, 'PATCH', '/v1/admin/settings', { storage_provider: 'volume' });
      const answer = await refused({}, homed);
      await as(admin, 'PATCH', '/v1/admin/settings', { storage_provider: 'auto' });
      expect(answer).toEqual([409, 'conflict']);
      expect(await homes()).toEqual([]);
    });

    test('the host of the home is the only one that will do', async () => {
      const parent = await world.app({ managed_home: true });
      await db().insertInto('storage_homes').values(nobodysHome(parent, away)).execute();
      expect(await refused({}, await tileOf(parent))).toEqual([503, 'no_host_available']);
      expect((await launch({}, parent)).status).toBe(201);
    });

    test('a database error before the commit is 500, and nothing is left', async () => {
      const { database } = world.plane.platform;
      const used = await world.slotsUsed(hostA);
      const homed = await world.app({ managed_home: true });
      const transaction = database.transaction.bind(database);
      // Only that of the launch: sessions of other tests go on meanwhile.
      const spy = vi.spyOn(database, 'transaction').mockImplementation((work) =>
        transaction(async (tx) => {
          const result = await work(tx);
          const made = await tx.selectFrom('sessions').select('id').where('app_id', '=', homed).execute();
          if (made.length > 0) throw new Error('the disk is gone');
          return result;
        }),
      );
      const answer = await launch({}, homed);
      spy.mockRestore();
      expect([answer.status, answer.body.error?.code]).toEqual([500, 'internal']);
      expect(answer.text).not.toContain('disk');
      expect(await world.slotsUsed(hostA)).toBe(used);
      expect([await sessions(), await homes()]).toEqual([[], []]);
    });

    test('the first failed check gives the answer, even if later checks would fail too', async () => {
      const parent = await world.app({
        name: 'Launcher',
        managed_home: true,
        enabled: false,
        default_encode_slots: 65,
      });
      const tile = await tileOf(parent, {
        enabled: false,
        entitle: 'none',
        launchable_profile_ids: ['alpha'],
      });
      const holder = await addSession(world, {
        appId: parent,
        userId: alice.id,
        state: 'running',
        hostId: away,
      });
      await db().updateTable('sessions').set({ home_app_id: parent }).where('id', '=', holder).execute();
      await as(admin, 'PATCH', `/v1/users/${alice.id}`, { max_concurrent_sessions: 0 });
      await policy({ user_overrides_allowed: false });
      let request: object = { profile_id: 'nope', stream: { width: 641 } };
      const asking = (next: object) => async () => {
        request = next;
      };
      const h265 = { stream: { codec: 'h265' } };
      const demands = (default_encode_slots: number) => () =>
        as(admin, 'PATCH', `/v1/apps/${parent}`, { default_encode_slots });
      await launch({}, app, admin);
      const used = await world.slotsUsed(hostA);

      const rows: [row: number, status: number, code: string, mend: () => Promise<unknown>][] = [
        [1, 400, 'validation_failed', asking({ profile_id: 'nope', ...h265 })],
        [2, 404, 'not_found', () => as(admin, 'PATCH', `/v1/apps/${tile}`, { enabled: true })],
        [3, 409, 'parent_app_disabled', () => as(admin, 'PATCH', `/v1/apps/${parent}`, { enabled: true })],
        [
          4,
          403,
          'forbidden',
          () =>
            as(admin, 'POST', `/v1/admin/apps/${tile}/entitlements`, {
              subject_type: 'user',
              subject_id: alice.id,
            }),
        ],
        [5, 409, 'conflict', () => policy({ user_overrides_allowed: true })],
        [
          6,
          409,
          'profile_not_launchable_for_app',
          () => as(admin, 'PATCH', `/v1/apps/${tile}`, { launchable_profile_ids: [] }),
        ],
        [8, 400, 'validation_failed', asking({ profile_id: 'secret', ...h265 })],
        [9, 409, 'profile_ineligible', asking({ profile_id: 'alpha', ...h265 })],
        [
          10,
          409,
          'home_not_provisioned',
          () => db().insertInto('storage_homes').values(nobodysHome(parent, away)).execute(),
        ],
        [
          12,
          409,
          'session_quota_exceeded',
          () => as(admin, 'PATCH', `/v1/users/${alice.id}`, { max_concurrent_sessions: 2 }),
        ],
        [13, 409, 'home_in_use', () => db().deleteFrom('sessions').where('id', '=', holder).execute()],
        [
          14,
          503,
          'no_host_available',
          async () => {
            const home = { host_id: hostA.hostId };
            await db().updateTable('storage_homes').set(home).where('user_id', '=', alice.id).execute();
            await demands(64)();
          },
        ],
        [15, 503, 'capacity_exhausted', demands(1)],
        [16, 400, 'validation_failed', asking({ profile_id: '1080p60', ...h265 })],
        [17, 409, 'conflict', asking({ profile_id: '1080p60' })],
      ];
      for (const [row, status, code, mend] of rows) {
        expect([row, ...(await refused({ ...request }, tile))]).toEqual([row, status, code]);
        expect(await world.slotsUsed(hostA)).toBe(used);
        await mend();
      }
      expect((await launch({ ...request }, tile)).status).toBe(201);
    });
  });

  describe('what is served, stored and shown', () => {
    test('the first rung that host and device do, within what the line carries', async () => {
      await probe({ bandwidth_kbps: 5_000, rtt_ms: 20, codecs: { av1: true } });
      const { body } = await launch({ profile_id: 'alpha' });
      expect(body.session).toMatchObject({
        profile_id: 'alpha',
        stream_profile_id: 'alpha-av1',
        stream: { codec: 'av1', bitrate_kbps: 3_500, playout0_ms: 75 },
        codec_decision: { result_rung: 'alpha-av1', result_codec: 'av1', floor: false },
      });
      const assigned = await vi.waitFor(() => {
        const found = hostA.commands.find(
          (command) => command.type === 'session_assign' && command.session_id === body.session.id,
        );
        expect(found).toBeDefined();
        return found;
      });
      expect(assigned).toMatchObject({ stream: { codec: 'av1', bitrate_kbps: 3_500, playout0_ms: 75 } });
      expect((await world.session(body.session.id)).codec_decision).toEqual(body.session.codec_decision);
    });

    test('what the device failed with is passed over, for 30 days', async () => {
      await probe({ codecs: { av1: true } });
      const { id } = await db()
        .selectFrom('devices')
        .select('id')
        .where('user_id', '=', alice.id)
        .executeTakeFirstOrThrow();
      const failure = {
        device_id: id,
        launch_profile_id: 'another',
        stream_profile_id: 'alpha-av1',
        codec: 'av1' as const,
        outcome: 'fail' as const,
        recorded_at: world.clock.nowMs() - 30 * DAY_MS,
      };
      await db().insertInto('client_failures').values(failure).execute();
      const first = await launch({ profile_id: 'alpha' });
      expect(first.body.session).toMatchObject({
        stream_profile_id: 'alpha-h264',
        codec_decision: { considered: [{ rejected_by: 'decode_history' }, { selected: true }] },
      });
      await db()
        .updateTable('client_failures')
        .set({ recorded_at: failure.recorded_at - 1 })
        .where('device_id', '=', id)
        .execute();
      expect((await launch({ profile_id: 'alpha' })).body.session.stream_profile_id).toBe('alpha-av1');
    });

    test("a person's override is cut to the rung, an administrator's is not", async () => {
      const stream = { width: 3840, height: 2160, fps: 30 };
      const mine = await launch({ profile_id: 'alpha', stream });
      expect(mine.body.session.stream).toMatchObject({ width: 1280, height: 720, fps: 30 });
      const theirs = await launch({ profile_id: 'alpha', stream }, app, admin);
      expect(theirs.body.session.stream).toMatchObject(stream);
    });

    test('an override without a profile is bound by the app, and no rung is in force', async () => {
      const { body } = await launch({ stream: { width: 3840, height: 2160, bitrate_kbps: 500 } });
      expect(body.session).toMatchObject({
        profile_id: null,
        stream_profile_id: null,
        codec_decision: null,
        stream: { width: 1920, height: 1080, bitrate_kbps: 500 },
      });
    });

    test('a codec that no rung has is 400; one that the host lacks is 409 and leaves no rows', async () => {
      const used = await world.slotsUsed(hostA);
      expect(await refused({ profile_id: 'alpha', stream: { codec: 'h265' } })).toEqual([
        400,
        'validation_failed',
      ]);
      expect(await refused({ profile_id: '1080p60', stream: { codec: 'h265' } })).toEqual([409, 'conflict']);
      expect(await world.slotsUsed(hostA)).toBe(used);
      const sessions = await db()
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', alice.id)
        .execute();
      expect(sessions).toEqual([]);
    });

    test('a measured encoder that is too slow: one profile lower, for people', async () => {
      const certification = {
        id: randomUUID(),
        host_id: hostA.hostId as string,
        gpu_index: 0,
        encoder: 'openh264' as const,
        profile_id: '1080p60',
        stream_profile_id: '1080p60-h264',
        width: 1920,
        height: 1080,
        fps: 60,
        bitrate_kbps: 6_000,
        verdict: 'unsafe' as const,
        encode_ms_p50: 20,
        encode_ms_p95: 30,
        encode_ms_max: 40,
        output_fps: 30,
        drop_rate: 1,
        live_write_stable: 1 as const,
        sample_window_ms: 19_000,
        sample_count: 19,
        agent_version: '1',
        measured_at: world.clock.nowMs(),
      };
      await db().insertInto('encoder_certifications').values(certification).execute();
      const again = db()
        .insertInto('encoder_certifications')
        .values({ ...certification, id: randomUUID() });
      await expect(again.execute()).rejects.toThrow();
      expect((await launch()).body.session).toMatchObject({
        profile_id: '720p60',
        stream_profile_id: '720p60-h264',
        stream: { width: 1280, bitrate_kbps: 4_500 },
      });
      expect((await launch({}, app, admin)).body.session.profile_id).toBe('1080p60');
      await db().deleteFrom('encoder_certifications').execute();
    });
  });

  describe('the display beside a host', () => {
    const console = (hostId: string, topology: 'local_only' | 'dual_output') =>
      world.plane.sessions.consoles.launch({ hostId, userId: alice.id, appId: app, topology });

    test('a local session takes no slot of a full host, and has no signaling token', async () => {
      const agent = await world.host('full', slots(0));
      const id = await console(agent.hostId as string, 'local_only');
      expect(await world.until(id, 'running')).toMatchObject({ host_id: agent.hostId, user_id: alice.id });
      expect(await world.slotsUsed(agent)).toBe(0);
      expect(agent.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        video_topology: 'local_only',
        resources: { encode_slots: 0 },
      });
      const tokens = await db()
        .selectFrom('signaling_tokens')
        .selectAll()
        .where('session_id', '=', id)
        .execute();
      expect(tokens).toEqual([]);
      await expect(console(agent.hostId as string, 'dual_output')).rejects.toMatchObject({
        code: 'no_host_available',
      });
    });

    test('a host that does not take placements is not replaced by another', async () => {
      const bare = await addHost(world, 'elsewhere');
      await expect(console(bare, 'local_only')).rejects.toMatchObject({ code: 'no_host_available' });
    });
  });

  describe('what changes between the look and the commit', () => {
    /** Lets something happen once the launch has looked, right before its transaction. */
    const justBefore = (happening: () => Promise<unknown>, request: Record<string, unknown>) =>
      beforeTransactionOf(world.plane.platform.database, () => launch(request), happening);

    test('the rung is gone: the launch looks again and takes what is there now', async () => {
      await catalog.rung('passing');
      await catalog.profile('passes', ['passing', 'alpha-h264']);
      const answer = await justBefore(
        async () => {
          await as(admin, 'PATCH', '/v1/admin/launch-profiles/passes', { rungs: ['alpha-h264'] });
          await world.call(admin, 'DELETE', '/v1/admin/stream-profiles/passing');
        },
        { profile_id: 'passes' },
      );
      expect(answer.body.session.stream_profile_id).toBe('alpha-h264');
    });

    test('a launch and the delete of its rung: one of them sees the other', async () => {
      for (let round = 0; round < 8; round += 1) {
        const id = `race-${round}`;
        await catalog.rung(id);
        await catalog.profile(id, [id]);
        const racer = await world.addPerson(`racer${people}-${round}`);
        const [launched] = await Promise.all([
          world.launch(racer, app, { profile_id: id }),
          as(admin, 'PATCH', `/v1/admin/launch-profiles/${id}`, { rungs: ['alpha-h264'] }).then(() =>
            world.call(admin, 'DELETE', `/v1/admin/stream-profiles/${id}`),
          ),
        ]);
        expect(launched.status).toBe(201);
        const recorded = launched.body.session.stream_profile_id as string;
        const rungs = await as(admin, 'GET', '/v1/admin/stream-profiles');
        expect(rungs.items.map((one: { id: string }) => one.id)).toContain(recorded);
      }
    });
  });
});
