import { type AdminApp, adminApp } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  addSession,
  createTestApp,
  describeDatabases,
  loggedActivity,
  PATIENTLY,
  type Person,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';

describeDatabases('apps', (databases) => {
  let app: TestApp;
  let admin: Person;
  let alice: Person;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    ({ admin, alice } = app.people);
  });
  afterAll(() => app.close());
  // The test clock advances only when a test advances it, and "newest first" needs different times.
  beforeEach(() => app.clock.pass(1_000));

  const create = (body: object) => app.call(admin, 'POST', '/v1/apps', { body });
  const patch = (id: string, body: unknown) => app.call(admin, 'PATCH', `/v1/apps/${id}`, { body });
  const created = async (body: object): Promise<AdminApp> => {
    const answer = await create(body);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.app;
  };
  const activity = (action: string) => loggedActivity(app, { action });

  const session = (appId: string, state: 'pending' | 'stopped', ageDays = 0) =>
    addSession(app, { appId, userId: alice.id, state, ageDays });

  async function profile(id: string, visibility: 'user' | 'debug' = 'user'): Promise<void> {
    await app.plane.platform.database.db
      .insertInto('launch_profiles')
      .values({
        id,
        display_name: id,
        description: '',
        visibility,
        sort_order: 0,
        created_at: 1,
        updated_at: 1,
      })
      .execute();
  }

  describe('POST /v1/apps', () => {
    test('answers the whole record with its defaults', async () => {
      const record = await created({ name: 'Defaults' });
      expect(adminApp.parse(record)).toEqual(record);
      expect(record).toMatchObject({
        name: 'Defaults',
        description: '',
        cover_url: null,
        hero_url: null,
        kind: 'game',
        enabled: true,
        parent_app_id: null,
        external_source: '',
        external_id: '',
        favourite: false,
        default_width: 1920,
        default_height: 1080,
        default_fps: 60,
        default_bitrate_kbps: 15_000,
        default_vram_mb: 1024,
        default_encode_slots: 1,
        display_stream: { width: 1920, height: 1080, fps: 60, bitrate_kbps: 15_000 },
        runtime_spec: {},
        runtime_preset_id: null,
        managed_home: false,
        home_container_path: '/home/service',
        home_base: null,
        default_profile_id: null,
        profile_policy: 'inherit',
        launchable_profile_ids: [],
        origin: 'manual',
        library_provider: '',
        library_discovery_suspended: false,
        sessions_30d: 0,
      });
      expect(await activity('app.create')).toMatchObject([
        { actor_user_id: admin.id, target_type: 'app', target_id: record.id, details: { name: 'Defaults' } },
      ]);
    });

    test('keeps a runtime spec exactly as it was sent, unknown keys and __proto__ among them', async () => {
      const text = '{"args":["glxgears"],"gpu":true,"x-own":{"deep":[1,2]},"__proto__":{"polluted":true}}';
      const answer = await app.call(admin, 'POST', '/v1/apps', {
        body: `{"name":"Spec","runtime_spec":${text}}`,
      });
      expect(answer.status).toBe(201);
      expect(answer.text).toContain('"x-own":{"deep":[1,2]}');
      expect(answer.text).toContain('"__proto__":{"polluted":true}');
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    });

    test.each([
      ['name', {}],
      ['name', { name: ' ' }],
      ['kind', { kind: '' }],
      ['kind', { kind: 'film' }],
      ['enabled', { enabled: 'yes' }],
      ['enabled', { enabled: null }],
      ['default_width', { default_width: 1921 }],
      ['default_width', { default_width: 14 }],
      ['default_height', { default_height: 7682 }],
      ['default_fps', { default_fps: 0 }],
      ['default_fps', { default_fps: 30.5 }],
      ['default_bitrate_kbps', { default_bitrate_kbps: 500_001 }],
      ['default_vram_mb', { default_vram_mb: -1 }],
      ['default_vram_mb', { default_vram_mb: 2_147_483_648 }],
      ['default_encode_slots', { default_encode_slots: 0 }],
      ['home_container_path', { home_container_path: 'relative' }],
      ['home_base', { managed_home: true, home_base: 'relative' }],
      ['home_base', { home_base: '/srv/base' }],
      ['cover_url', { cover_url: 'ftp://x/y' }],
      ['cover_url', { cover_url: 'javascript:alert(1)' }],
      ['external_source', { external_source: 'gog' }],
      ['external_id', { external_id: '0123' }],
      ['external_id', { external_id: '12345678901' }],
      ['library_provider', { library_provider: 'epic' }],
      ['profile_policy', { profile_policy: 'always' }],
      ['runtime_spec', { runtime_spec: [] }],
      ['runtime_spec', { runtime_spec: { args: 'glxgears' } }],
      ['runtime_spec', { runtime_spec: { env: { A: 1 } } }],
      ['runtime_spec', { runtime_spec: { network: 'host' } }],
      ['runtime_spec', { runtime_spec: { mounts: ['/etc:/etc'] } }],
      ['parent_app_id', { parent_app_id: 'x' }],
      ['parent_app_id', { parent_app_id: UNKNOWN_ID, external_source: 'steam', external_id: '1' }],
      ['runtime_preset_id', { runtime_preset_id: UNKNOWN_ID }],
      ['default_profile_id', { default_profile_id: 'unknown' }],
      ['launchable_profile_ids', { launchable_profile_ids: null }],
      ['launchable_profile_ids', { launchable_profile_ids: [''] }],
      ['launchable_profile_ids', { launchable_profile_ids: ['unknown'] }],
      ['', { origin: 'manual' }],
      ['', { hero_url: null }],
      ['', { id: UNKNOWN_ID }],
      ['', { favourite: true }],
      ['entitle', { entitle: 'first_admin' }],
    ])('400 names %s for %j', async (field, fields) => {
      const answer = await create(Object.keys(fields).length === 0 ? {} : { name: 'Refused', ...fields });
      refused(answer, 400, 'validation_failed');
      expect(answer.body.error.message).toMatch(new RegExp(`^${field}`));
    });

    test("entitle none: nobody sees it; all: everybody, by one row in the actor's name", async () => {
      const hidden = await created({ name: 'Hidden', entitle: 'none' });
      refused(await app.call(alice, 'GET', `/v1/apps/${hidden.id}`), 404, 'not_found');
      const open = await created({ name: 'Open', entitle: 'all' });
      expect((await app.call(alice, 'GET', `/v1/apps/${open.id}`)).status).toBe(200);
      const { body } = await app.call(admin, 'GET', `/v1/admin/apps/${open.id}/entitlements`);
      expect(body.items).toMatchObject([
        { subject_type: 'all', granted_by: 'admin', granted_by_user: admin.id },
      ]);
    });

    test('an allow-list collapses duplicates and is sorted; under force it is refused', async () => {
      await profile('zeta');
      await profile('alpha');
      await profile('hidden', 'debug');
      const record = await created({ name: 'Listed', launchable_profile_ids: ['zeta', 'alpha', 'zeta'] });
      expect(record.launchable_profile_ids).toEqual(['alpha', 'zeta']);
      const forced = {
        name: 'x',
        profile_policy: 'force',
        default_profile_id: 'alpha',
        launchable_profile_ids: ['zeta'],
      };
      refused(await create(forced), 400, 'validation_failed');
      refused(await create({ name: 'x', launchable_profile_ids: ['hidden'] }), 400, 'validation_failed');
      refused(await create({ name: 'x', default_profile_id: 'hidden' }), 400, 'validation_failed');
    });

    test('a library app needs discovery, which is off', async () => {
      refused(
        await create({ name: 'Library', library_provider: 'steam' }),
        409,
        'library_discovery_disabled',
      );
    });

    test('a refused create leaves nothing behind', async () => {
      const before = await app.call(admin, 'GET', '/v1/admin/apps?limit=1000');
      refused(await create({ name: 'Half', launchable_profile_ids: ['unknown'] }), 400, 'validation_failed');
      const after = await app.call(admin, 'GET', '/v1/admin/apps?limit=1000');
      expect(after.body.items).toEqual(before.body.items);
    });
  });

  describe('tiles', () => {
    test('exist once for each title below a parent', async () => {
      const parent = await created({ name: 'Launcher', kind: 'launcher', profile_policy: 'prefer' });
      const tile = { name: 'Title', parent_app_id: parent.id, external_source: 'steam', external_id: '620' };
      const record = await created(tile);
      expect(record).toMatchObject({ parent_app_id: parent.id, profile_policy: 'prefer' });
      refused(await create(tile), 409, 'conflict');
      refused(
        await create({ ...tile, parent_app_id: record.id, external_id: '2' }),
        400,
        'validation_failed',
      );
      refused(await create({ ...tile, external_id: '' }), 400, 'validation_failed');
      refused(await create({ ...tile, external_id: '3', managed_home: true }), 400, 'validation_failed');
      refused(
        await create({ ...tile, external_id: '3', library_provider: 'steam' }),
        400,
        'validation_failed',
      );
      const other = await created({ ...tile, external_id: '4' });
      refused(await patch(other.id, { external_id: '620' }), 409, 'conflict');
    });
  });

  describe('PATCH /v1/apps/{id}', () => {
    test('changes what it names, and the list follows at once', async () => {
      const record = await created({ name: 'Before' });
      await app.call(alice, 'GET', '/v1/apps');
      const answer = await patch(record.id, { name: 'After', default_fps: 30 });
      expect([answer.status, answer.body.app]).toEqual([
        200,
        { ...record, name: 'After', default_fps: 30, display_stream: { ...record.display_stream, fps: 30 } },
      ]);
      const { body } = await app.call(alice, 'GET', '/v1/apps');
      expect(body.items[0]).toMatchObject({ id: record.id, name: 'After' });
      expect((await activity('app.update')).at(-1)).toMatchObject({
        actor_user_id: admin.id,
        target_id: record.id,
        details: { keys: ['default_fps', 'name'] },
      });
    });

    test('an empty one answers the unchanged record', async () => {
      const record = await created({ name: 'Same' });
      const answer = await patch(record.id, {});
      expect([answer.status, answer.body.app]).toEqual([200, record]);
    });

    test.each([
      ['name', { name: null }],
      ['entitle', { entitle: 'all' }],
      ['runtime_spec', { runtime_spec: null }],
      ['launchable_profile_ids', { launchable_profile_ids: null }],
      ['home_container_path', { home_container_path: null }],
      ['library_discovery_suspended', { library_discovery_suspended: false }],
    ])('400 for %s: %j', async (_field, body) => {
      const record = await created({ name: 'Patched' });
      refused(await patch(record.id, body), 400, 'validation_failed');
    });

    test('an app is not its own parent, and one with tiles gets none', async () => {
      const parent = await created({ name: 'Parent', external_source: 'steam', external_id: '1' });
      const other = await created({ name: 'Other' });
      await created({ name: 'Tile', parent_app_id: parent.id, external_source: 'steam', external_id: '2' });
      refused(await patch(parent.id, { parent_app_id: parent.id }), 400, 'validation_failed');
      refused(await patch(parent.id, { parent_app_id: other.id }), 400, 'validation_failed');
    });

    test('a tile is checked together with its stored fields', async () => {
      const parent = await created({ name: 'Parent' });
      const plain = await created({ name: 'Plain' });
      refused(await patch(plain.id, { parent_app_id: parent.id }), 400, 'validation_failed');
      const answer = await patch(plain.id, {
        parent_app_id: parent.id,
        external_source: 'steam',
        external_id: '5',
      });
      expect(answer.status).toBe(200);
      refused(await patch(plain.id, { external_source: '' }), 400, 'validation_failed');
      expect((await patch(plain.id, { parent_app_id: null })).body.app.parent_app_id).toBeNull();
    });

    test('switching to force clears the stored list', async () => {
      await profile('forced');
      const record = await created({ name: 'List', launchable_profile_ids: ['forced'] });
      const answer = await patch(record.id, { profile_policy: 'force' });
      expect(answer.body.app.launchable_profile_ids).toEqual([]);
      refused(await patch(record.id, { launchable_profile_ids: ['forced'] }), 400, 'validation_failed');
    });

    test('unknown: 404, after faults of the request itself', async () => {
      refused(await patch(UNKNOWN_ID, { name: 'x' }), 404, 'not_found');
      refused(await patch(UNKNOWN_ID, { runtime_preset_id: UNKNOWN_ID }), 404, 'not_found');
      refused(await patch(UNKNOWN_ID, { runtime_spec: { mounts: ['/:/x'] } }), 400, 'validation_failed');
    });

    test.each([
      ['managed_home', { managed_home: true }],
      ['runtime_spec', { runtime_spec: { args: ['x'] } }],
      ['library_provider', { library_provider: 'steam' }],
      ['external_id', { external_id: '' }],
      ['parent_app_id', { parent_app_id: UNKNOWN_ID }],
    ])('a tile never gets a %s of its own: %j', async (field, body) => {
      const parent = await created({ name: 'Parent' });
      const tile = await created({
        name: 'Tile',
        parent_app_id: parent.id,
        external_source: 'steam',
        external_id: '7',
      });
      const answer = await patch(tile.id, body);
      refused(answer, 400, 'validation_failed');
      expect(answer.body.error.message).toMatch(new RegExp(`^${field}`));
    });

    test('a tile moves to another parent, but never below another tile', async () => {
      const [one, two] = [await created({ name: 'One' }), await created({ name: 'Two' })];
      const tile = { external_source: 'steam', external_id: '8' };
      const moved = await created({ name: 'Moved', parent_app_id: one.id, ...tile });
      const other = await created({ name: 'Other', parent_app_id: two.id, ...tile });
      refused(await patch(moved.id, { parent_app_id: other.id }), 400, 'validation_failed');
      refused(await patch(moved.id, { parent_app_id: two.id }), 409, 'conflict');
      const answer = await patch(moved.id, { parent_app_id: two.id, external_id: '9' });
      expect([answer.status, answer.body.app.parent_app_id]).toEqual([200, two.id]);
    });

    test('cover_url is refused while the app has artwork, and the whole request with it', async () => {
      const record = await created({ name: 'Painted' });
      const { database } = app.plane.platform;
      await database.db
        .insertInto('artwork_records')
        .values({
          app_id: record.id,
          source: 'none',
          provider: '',
          provider_ref: '',
          matched_name: '',
          tile_url: null,
          hero_url: null,
          attribution: '',
          locked: 0,
          updated_at: 1,
        })
        .execute();
      for (const cover_url of ['/covers/1.png', '', null])
        refused(await patch(record.id, { cover_url, name: 'Changed' }), 409, 'conflict');
      refused(await patch(record.id, { cover_url: null, kind: 'film' }), 400, 'validation_failed');
      refused(
        await patch(record.id, { cover_url: null, runtime_preset_id: UNKNOWN_ID }),
        400,
        'validation_failed',
      );
      expect((await app.call(admin, 'GET', `/v1/apps/${record.id}`)).body.app).toEqual(record);
      expect((await patch(record.id, { name: 'Changed' })).status).toBe(200);
      await database.db.deleteFrom('artwork_records').where('app_id', '=', record.id).execute();
      expect((await patch(record.id, { cover_url: '/covers/1.png' })).status).toBe(200);
    });

    test('an empty one is no change to record', async () => {
      const record = await created({ name: 'Quiet' });
      const before = await activity('app.update');
      expect((await patch(record.id, {})).status).toBe(200);
      expect(await activity('app.update')).toEqual(before);
    });
  });

  describe('library apps and discovery', () => {
    const switchDiscovery = (on: boolean) =>
      app.plane.platform.database.db
        .updateTable('instance_settings')
        .set({ library_discovery_enabled: on ? 1 : 0 })
        .execute();
    /** Sets an app to the state that it has after discovery was switched off. */
    const suspend = (id: string) =>
      app.plane.platform.database.db
        .updateTable('apps')
        .set({ enabled: 0, library_discovery_suspended: 1 })
        .where('id', '=', id)
        .execute();
    let library: AdminApp;
    beforeEach(async () => {
      await switchDiscovery(true);
      library = await created({ name: 'Library', library_provider: 'steam' });
      await switchDiscovery(false);
    });

    test('while it is off, no write puts an enabled one in place', async () => {
      refused(
        await create({ name: 'x', enabled: false, library_provider: 'steam' }),
        409,
        'library_discovery_disabled',
      );
      const plain = await created({ name: 'Plain' });
      for (const [id, body] of [
        [plain.id, { library_provider: 'steam' }],
        [library.id, { library_provider: 'steam' }],
        [library.id, { enabled: true }],
      ] as const)
        refused(await patch(id, body), 409, 'library_discovery_disabled');
      refused(
        await patch(library.id, { enabled: true, default_profile_id: 'unknown' }),
        400,
        'validation_failed',
      );
      for (const [id, body] of [
        [library.id, { name: 'Renamed' }],
        [library.id, { enabled: false }],
        [plain.id, { library_provider: 'steam', enabled: false }],
        [plain.id, { library_provider: '', enabled: true }],
      ] as const)
        expect((await patch(id, body)).status, JSON.stringify(body)).toBe(200);
      await switchDiscovery(true);
      expect((await patch(library.id, { enabled: true })).status).toBe(200);
    });

    test('a write of `enabled`, with either value, ends the suspension; other writes do not', async () => {
      await suspend(library.id);
      const renamed = await patch(library.id, { name: 'Suspended' });
      expect(renamed.body.app).toMatchObject({ enabled: false, library_discovery_suspended: true });
      const off = await patch(library.id, { enabled: false });
      expect(off.body.app).toMatchObject({ enabled: false, library_discovery_suspended: false });
      await suspend(library.id);
      await switchDiscovery(true);
      const on = await patch(library.id, { enabled: true });
      expect(on.body.app).toMatchObject({ enabled: true, library_discovery_suspended: false });
    });
  });

  describe('DELETE /v1/apps/{id}', () => {
    const remove = (id: string, query = '') => app.call(admin, 'DELETE', `/v1/apps/${id}${query}`);

    test('takes the app from everybody', async () => {
      const record = await created({ name: 'Doomed' });
      expect((await remove(record.id)).status).toBe(204);
      refused(await app.call(admin, 'GET', `/v1/apps/${record.id}`), 404, 'not_found');
      refused(await remove(record.id), 404, 'not_found');
      expect((await activity('app.delete')).at(-1)).toMatchObject({
        target_id: record.id,
        details: { name: 'Doomed', delete_derived: false },
      });
    });

    test('with tiles: 409 lists them by name until exactly ?delete_derived=true', async () => {
      const parent = await created({ name: 'Shop' });
      const names = ['b', 'a', 'c'];
      for (const [index, name] of names.entries()) {
        await created({
          name,
          parent_app_id: parent.id,
          external_source: 'steam',
          external_id: String(index + 1),
        });
      }
      for (const query of ['', '?delete_derived=', '?delete_derived=1', '?delete_derived=TRUE']) {
        const answer = await remove(parent.id, query);
        refused(answer, 409, 'conflict');
        expect(answer.body.error.derived_tiles.map((tile: { name: string }) => tile.name)).toEqual([
          'a',
          'b',
          'c',
        ]);
      }
      expect((await remove(parent.id, '?delete_derived=true')).status).toBe(204);
      const { body } = await app.call(admin, 'GET', '/v1/admin/apps?limit=1000');
      expect(body.items.some((item: AdminApp) => item.parent_app_id === parent.id)).toBe(false);
    });

    test('the list of tiles stops at 200 and comes before live sessions', async () => {
      const parent = await created({ name: 'Warehouse' });
      const { database, random } = app.plane.platform;
      const row = await database.db
        .selectFrom('apps')
        .selectAll()
        .where('id', '=', parent.id)
        .executeTakeFirstOrThrow();
      const tiles = Array.from({ length: 201 }, (_, index) => ({
        ...row,
        id: random.uuid(),
        name: `Tile ${String(200 - index).padStart(3, '0')}`,
        parent_app_id: parent.id,
        external_source: 'steam' as const,
        external_id: String(index + 1),
      }));
      await database.db.insertInto('apps').values(tiles).execute();
      await session(parent.id, 'pending');
      const answer = await remove(parent.id);
      refused(answer, 409, 'conflict');
      const listed: { id: string; name: string }[] = answer.body.error.derived_tiles;
      expect(listed).toHaveLength(200);
      expect(listed[0]).toEqual({ id: tiles[200]?.id, name: 'Tile 000' });
      expect(listed.at(-1)?.name).toBe('Tile 199');
    });

    // SQLite runs only one transaction at a time.
    test.runIf(databases.dialect === 'postgres')(
      'a launch of a tile that is about to commit is waited for, and then prevents the deletion',
      async () => {
        const parent = await created({ name: 'Racy' });
        const tile = await created({
          name: 'T',
          parent_app_id: parent.id,
          external_source: 'steam',
          external_id: '10',
        });
        const { database } = app.plane.platform;
        let commit = () => {};
        const committing = new Promise<void>((resolve) => {
          commit = resolve;
        });
        let launching = Promise.resolve();
        await new Promise<void>((inserted) => {
          launching = database.transaction(async (tx) => {
            await addSession(app, { appId: tile.id, userId: alice.id, state: 'pending' }, tx);
            inserted();
            await committing;
          });
        });
        const deleting = remove(parent.id, '?delete_derived=true');
        await vi.waitUntil(async () => {
          const waiting = sql<{ count: number }>`select count(*) as count from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`;
          return (await waiting.execute(database.db)).rows[0]?.count === 1;
        }, PATIENTLY);
        commit();
        await launching;
        refused(await deleting, 409, 'conflict');
        expect((await app.call(admin, 'GET', `/v1/apps/${tile.id}`)).status).toBe(200);
      },
    );

    test('with a live session on it or on a tile: 409; a session that ended is no hindrance', async () => {
      const parent = await created({ name: 'Busy' });
      const tile = await created({
        name: 'T',
        parent_app_id: parent.id,
        external_source: 'steam',
        external_id: '9',
      });
      await session(tile.id, 'pending');
      refused(await remove(tile.id), 409, 'conflict');
      const answer = await remove(parent.id, '?delete_derived=true');
      refused(answer, 409, 'conflict');
      expect(answer.body.error.derived_tiles).toBeUndefined();
      const ended = await created({ name: 'Ended' });
      await session(ended.id, 'stopped');
      expect((await remove(ended.id)).status).toBe(204);
    });

    test('marks its homes for deletion, also those of a tile from before it was one, and keeps their rows', async () => {
      const record = await created({ name: 'Homely', managed_home: true });
      const tile = await created({
        name: 'Tile',
        parent_app_id: record.id,
        external_source: 'steam',
        external_id: '11',
      });
      const { database, random } = app.plane.platform;
      const homes = [record.id, tile.id].map((app_id) => ({
        id: random.uuid(),
        user_id: alice.id,
        app_id,
        host_id: null,
        provider: 'local' as const,
        ref: `/homes/${app_id}`,
        bytes_used: 0,
        created_at: 1,
        last_used_at: 1,
        gc_after: null,
      }));
      await database.db.insertInto('storage_homes').values(homes).execute();
      expect((await remove(record.id, '?delete_derived=true')).status).toBe(204);
      for (const { id } of homes) {
        const home = await database.db
          .selectFrom('storage_homes')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirst();
        expect(home).toMatchObject({ app_id: null, user_id: alice.id, gc_after: app.clock.nowMs() });
      }
    });
  });
});
