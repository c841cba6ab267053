import { DAY_MS, HOUR_MS, MINUTE_MS } from '@footlight/platform';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, loggedActivity, refused, UNKNOWN_ID } from '../../testing/index.ts';
import { type DiscoveryWorld, openDiscoveryWorld } from '../testing/world.ts';

describeDatabases('scans of homes', ({ fresh }) => {
  let world: DiscoveryWorld;
  beforeEach(async () => {
    world = await openDiscoveryWorld(await fresh());
  });
  afterEach(() => world.close());

  const alice = () => world.app.people.alice;
  const pass = () => world.app.plane.discovery.pass(async () => undefined);
  const states = async () => (await world.admin('GET', '/v1/admin/library/status')).body.scans;
  const settings = (body: object) => world.admin('PATCH', '/v1/admin/settings', body);

  describe('by hand', () => {
    test('adds a scan for each home, and skips homes with an open one', async () => {
      await world.addHome(alice(), world.hostA);
      await world.addHome(alice(), world.hostB);
      expect((await world.force()).body).toEqual({ queued: 2, skipped: 0, eligible: 2, inert_reason: '' });
      expect((await world.force({})).body).toMatchObject({ queued: 0, skipped: 2, eligible: 2 });
      await world.hostA.poll();
      expect((await world.force()).body).toMatchObject({ queued: 0, skipped: 2 });
    });

    test('is audited, with zero counts too', async () => {
      await world.addHome(alice(), world.hostA);
      await world.force({ app_id: world.providerId, user_id: alice().id });
      await settings({ library_discovery_enabled: false });
      await world.force();
      const logged = await loggedActivity(world.app, { action: 'library.scan.force' });
      expect(logged.map(({ target_type, details }) => [target_type, details])).toEqual([
        ['library', { app_id: world.providerId, user_id: alice().id, queued: 1, skipped: 0, eligible: 1 }],
        ['library', { app_id: null, user_id: null, queued: 0, skipped: 0, eligible: 0 }],
      ]);
    });

    test('judges the body, then whether discovery works, then the scope', async () => {
      const other = (await world.admin('POST', '/v1/apps', { name: 'Gears' })).body.app.id;
      refused(await world.force({ app_id: 'x' }), 400, 'validation_failed');
      refused(await world.force({ user_id: 7 }), 400, 'validation_failed');
      refused(await world.force([]), 400, 'validation_failed');
      refused(await world.force({ app_id: UNKNOWN_ID }), 404, 'not_found');
      refused(await world.force({ app_id: other }), 400, 'validation_failed');
      await settings({ library_discovery_enabled: false });
      refused(await world.force({ app_id: 'x' }), 400, 'validation_failed');
      const inert = await world.force({ app_id: UNKNOWN_ID, more: 1 });
      expect([inert.status, inert.body.inert_reason]).toEqual([200, expect.stringMatching(/./)]);
    });

    test('takes null, "" and left out as no scope, and an unknown account as an empty one', async () => {
      await world.addHome(alice(), world.hostA);
      expect((await world.force({ app_id: null, user_id: '' })).body).toMatchObject({ eligible: 1 });
      expect((await world.force({ user_id: UNKNOWN_ID })).body).toEqual({
        queued: 0,
        skipped: 0,
        eligible: 0,
        inert_reason: expect.stringMatching(/./),
      });
    });

    test('leaves out homes that are collected, volumes, and homes of other apps', async () => {
      const other = (await world.admin('POST', '/v1/apps', { name: 'Gears' })).body.app.id;
      await world.addHome(alice(), world.hostA, { gc_after: 1 });
      await world.addHome(world.app.people.bob, world.hostA, { provider: 'volume' });
      await world.addHome(world.app.people.admin, world.hostA, { app_id: other });
      expect((await world.force()).body).toMatchObject({ eligible: 0 });
    });

    test('bypasses the interval only', async () => {
      await world.addHome(alice(), world.hostA);
      await world.scan(world.hostA, []);
      expect(await pass()).toMatchObject({ enqueued: 0 });
      expect((await world.force()).body).toMatchObject({ queued: 1 });
    });
  });

  describe('of a pass', () => {
    test('are due an interval after the scan before was made', async () => {
      await world.addHome(alice(), world.hostA);
      expect(await pass()).toEqual({ enqueued: 1, returned_abandoned: 0, expired: 0, pruned: 0 });
      expect(await pass()).toMatchObject({ enqueued: 0 });
      await world.app.clock.advance(HOUR_MS);
      const [task] = await world.hostA.poll();
      await world.report(world.hostA, task?.scan_id ?? '', []);
      await world.app.clock.advance(5 * HOUR_MS - 1);
      expect(await pass()).toMatchObject({ enqueued: 0 });
      await world.app.clock.advance(1);
      expect(await pass()).toMatchObject({ enqueued: 1 });
    });

    test('a clock that was ahead for a moment keeps no home from its next scan, made or claimed by it', async () => {
      const { clock } = world.app;
      for (const claimed of [false, true]) {
        const home = await world.addHome(alice(), world.hostA);
        clock.jump(2 * DAY_MS);
        if (claimed) {
          await pass();
          await world.hostA.poll();
        } else await world.scan(world.hostA, []);
        clock.jump(-2 * DAY_MS);
        expect(await pass()).toMatchObject(claimed ? { returned_abandoned: 1 } : { enqueued: 1 });
        expect(await pass()).toMatchObject({ enqueued: 0, returned_abandoned: 0 });
        await world.app.plane.platform.database.db.deleteFrom('library_scans').execute();
        await world.app.plane.platform.database.db
          .deleteFrom('storage_homes')
          .where('id', '=', home)
          .execute();
      }
    });

    test('a failed scan does not count as one', async () => {
      await world.addHome(alice(), world.hostA);
      await world.scan(world.hostA, [], { ok: false, error: 'the home cannot be opened' });
      expect(await pass()).toMatchObject({ enqueued: 1 });
    });

    test('returns scans claimed for 30 minutes, fails scans without a home, deletes old scans', async () => {
      const home = await world.addHome(alice(), world.hostA);
      await pass();
      await world.hostA.poll();
      await world.app.clock.advance(30 * MINUTE_MS - 1);
      expect(await pass()).toMatchObject({ returned_abandoned: 0 });
      await world.app.clock.advance(1);
      expect(await pass()).toMatchObject({ returned_abandoned: 1, expired: 0 });
      expect(await states()).toMatchObject({ pending: 1, claimed: 0 });
      const { db } = world.app.plane.platform.database;
      await db.updateTable('storage_homes').set({ gc_after: 1 }).where('id', '=', home).execute();
      expect(await world.hostA.poll()).toEqual([]);
      expect(await pass()).toMatchObject({ expired: 1 });
      expect(await states()).toMatchObject({ pending: 0, failed: 1 });
      await world.app.clock.advance(30 * DAY_MS);
      expect(await pass()).toMatchObject({ pruned: 1 });
      expect(await states()).toMatchObject({ failed: 0 });
    });

    test('a scan by hand returns abandoned ones first', async () => {
      await world.addHome(alice(), world.hostA);
      await world.force();
      await world.hostA.poll();
      await world.app.clock.advance(30 * MINUTE_MS);
      await world.force();
      expect(await states()).toMatchObject({ pending: 1, claimed: 0 });
    });

    test('does nothing on an inert instance, and logs the reason once', async () => {
      await world.addHome(alice(), world.hostA);
      await settings({ storage_provider: 'volume' });
      expect(await pass()).toEqual({ inert: expect.stringMatching(/volumes/) });
      await pass();
      expect(world.app.log.filter((line) => line.includes('library.inert'))).toHaveLength(1);
      await settings({ library_discovery_enabled: false });
      await pass();
      expect(world.app.log.filter((line) => line.includes('library.inert'))).toHaveLength(2);
      expect(await states()).toMatchObject({ pending: 0 });
    });

    test('stops when its guard throws', async () => {
      await world.addHome(alice(), world.hostA);
      const lost = world.app.plane.discovery.pass(async () => {
        throw new Error('the lease is lost');
      });
      await expect(lost).rejects.toThrow('the lease is lost');
      expect(await states()).toMatchObject({ pending: 0 });
    });
  });

  describe('claimed by a host', () => {
    test('have everything that the agent needs, and are about homes of its host', async () => {
      const home = await world.addHome(alice(), world.hostA);
      await world.addHome(alice(), world.hostB);
      await world.force();
      expect(await world.hostA.poll()).toEqual([
        {
          scan_id: expect.any(String),
          root_path: `/srv/homes/${home}`,
          container_path: '/home/service',
          relative_roots: ['.local/share/Steam/steamapps', '.steam/steam/steamapps'],
          max_entries: 10_000,
          max_manifest_bytes: 1_048_576,
        },
      ]);
      expect(await states()).toMatchObject({ pending: 1, claimed: 1 });
    });

    test('name the home where the app sees it: its own place, else that of its preset', async () => {
      const preset = await world.admin('POST', '/v1/admin/runtime-presets', {
        name: 'Steam',
        home_container_path: '/home/steam',
      });
      await world.admin('PATCH', `/v1/apps/${world.providerId}`, {
        runtime_preset_id: preset.body.runtime_preset.id,
      });
      await world.addHome(alice(), world.hostA);
      await world.force();
      expect((await world.hostA.poll())[0]?.container_path).toBe('/home/steam');
    });

    test("name the app's base below the home", async () => {
      await world.admin('PATCH', `/v1/apps/${world.providerId}`, { home_base: '/srv/games/base' });
      await world.addHome(alice(), world.hostA);
      await world.force();
      const [task] = await world.hostA.poll();
      expect(task?.base_path).toBe('/srv/games/base');
      await world.app.clock.advance(MINUTE_MS);
      expect(await world.hostA.poll()).toEqual([task]);
    });

    test('come again to the same process after a minute, and to no other', async () => {
      await world.addHome(alice(), world.hostA);
      await world.force();
      const [task] = await world.hostA.poll();
      expect(await world.hostA.poll()).toEqual([]);
      await world.app.clock.advance(MINUTE_MS);
      expect(await world.hostA.poll(null)).toEqual([]);
      expect(await world.hostA.poll(UNKNOWN_ID)).toEqual([]);
      expect(await world.hostA.poll()).toEqual([task]);
    });

    test('are at most fifty, oldest first', async () => {
      for (let n = 0; n < 60; n += 1) {
        await world.app.clock.advance(1);
        await world.addHome(await world.app.addPerson(`person-${n}`), world.hostA);
        await world.force();
      }
      const first = await world.hostA.poll();
      expect(first).toHaveLength(50);
      expect(await world.hostA.poll()).toHaveLength(10);
    });

    test('are none while discovery is off: homes are not read then', async () => {
      await world.addHome(alice(), world.hostA);
      await world.force();
      await settings({ library_discovery_enabled: false });
      expect(await world.hostA.poll()).toEqual([]);
      await settings({ library_discovery_enabled: true });
      await world.admin('PATCH', `/v1/apps/${world.providerId}`, { enabled: true });
      expect(await world.hostA.poll()).toHaveLength(1);
    });

    test('races of two polls hand a scan out once', async () => {
      for (const name of ['one', 'two', 'three']) {
        await world.addHome(await world.app.addPerson(name), world.hostA);
      }
      await world.force();
      const polls = await Promise.all(Array.from({ length: 8 }, () => world.hostA.poll()));
      const ids = polls.flat().map(({ scan_id }) => scan_id);
      expect(ids).toHaveLength(3);
      expect(new Set(ids).size).toBe(3);
    });
  });

  describe('the job library.discovery', () => {
    const job = async () => (await world.admin('GET', '/v1/admin/jobs/library.discovery')).body;
    const run = () => world.app.plane.platform.jobs.runNow('library.discovery');
    const lastRun = async () =>
      (await world.admin('GET', '/v1/admin/jobs/library.discovery/runs')).body.items[0];

    test('has the interval of the setting, and follows its changes', async () => {
      expect((await job()).schedule).toMatchObject({ interval_secs: 21_600, locked: false });
      await settings({ library_discovery_interval_minutes: 15 });
      expect((await job()).schedule).toMatchObject({ interval_secs: 900 });
      await world.admin('PATCH', '/v1/admin/jobs/library.discovery', { interval_secs: 3600 });
      await settings({ mic_capture_enabled: true });
      expect((await job()).schedule).toMatchObject({ interval_secs: 3600 });
    });

    test('makes a pass', async () => {
      await world.addHome(alice(), world.hostA);
      await run();
      expect(await lastRun()).toMatchObject({
        state: 'succeeded',
        summary: { enqueued: 1, returned_abandoned: 0, expired: 0, pruned: 0 },
      });
    });

    test('is skipped with the reason on an inert instance', async () => {
      await settings({ storage_provider: 'volume' });
      await run();
      expect(await lastRun()).toMatchObject({
        state: 'skipped',
        summary: { reason: expect.stringMatching(/volumes/) },
      });
    });

    test('is queued when discovery is switched on, and only then', async () => {
      await run();
      const queued = async () =>
        (await world.admin('GET', '/v1/admin/jobs/library.discovery/runs')).body.items.filter(
          ({ trigger, state }: { trigger: string; state: string }) =>
            trigger === 'event' && state === 'pending',
        ).length;
      await settings({ library_discovery_enabled: false });
      const before = await queued();
      await settings({ library_discovery_enabled: true });
      await settings({ library_discovery_enabled: true });
      expect([before, await queued()]).toEqual([0, 1]);
    });
  });

  test('two scans by hand at once add one for a home', async () => {
    await world.addHome(alice(), world.hostA);
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.force()));
    expect(answers.map(({ body }) => body.queued).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 1]);
    expect(await states()).toMatchObject({ pending: 1 });
  });
});

describeDatabases('variables of the environment', ({ fresh }) => {
  const open = async (env: Record<string, string>) => openDiscoveryWorld(await fresh(), { env });

  test('SERVICE_LIBRARY_SCAN_INTERVAL=0 ends all scans, those by hand too', async () => {
    const world = await open({ SERVICE_LIBRARY_SCAN_INTERVAL: '0' });
    await world.addHome(world.app.people.alice, world.hostA);
    expect((await world.force()).body).toMatchObject({
      queued: 0,
      eligible: 0,
      inert_reason: expect.stringMatching(/SERVICE_LIBRARY_SCAN_INTERVAL/),
    });
    expect(await world.app.plane.discovery.pass(async () => undefined)).toHaveProperty('inert');
    expect((await world.admin('GET', '/v1/admin/library/status')).body).toMatchObject({
      enabled: true,
      scan_interval_secs: 0,
      interval_overridden_by_env: true,
      inert_reason: expect.stringMatching(/SERVICE_LIBRARY_SCAN_INTERVAL/),
    });
    expect((await world.admin('GET', '/v1/admin/jobs/library.discovery')).body).toMatchObject({
      schedule: { locked: true, locked_by: 'SERVICE_LIBRARY_SCAN_INTERVAL' },
    });
    await world.close();
  });

  test('SERVICE_LIBRARY_SCAN_INTERVAL overrides the setting', async () => {
    const world = await open({ SERVICE_LIBRARY_SCAN_INTERVAL: '1h30m' });
    await world.admin('PATCH', '/v1/admin/settings', { library_discovery_interval_minutes: 15 });
    expect((await world.admin('GET', '/v1/admin/library/status')).body).toMatchObject({
      scan_interval_secs: 5400,
      interval_overridden_by_env: true,
      inert_reason: '',
    });
    await world.close();
  });

  test.each([
    ['true', true],
    ['0', false],
  ])('SERVICE_STEAM_APPDETAILS_LOOKUP=%s overrides the setting', async (value, isOn) => {
    const world = await open({ SERVICE_STEAM_APPDETAILS_LOOKUP: value });
    await world.admin('PATCH', '/v1/admin/settings', { library_discovery_appdetails_enabled: !isOn });
    expect((await world.admin('GET', '/v1/admin/library/status')).body).toMatchObject({
      appdetails_lookup: isOn,
      appdetails_overridden_by_env: true,
    });
    await world.close();
  });
});
