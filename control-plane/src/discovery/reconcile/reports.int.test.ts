import { randomUUID } from 'node:crypto';
import { MINUTE_MS } from '@footlight/platform';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, dumpDatabase, refused, UNKNOWN_ID } from '../../testing/index.ts';
import { type DiscoveryWorld, openDiscoveryWorld, type TestHost } from '../testing/world.ts';

describeDatabases('reports of scans', ({ fresh }) => {
  let world: DiscoveryWorld;
  beforeEach(async () => {
    world = await openDiscoveryWorld(await fresh());
    await world.addHome(world.app.people.alice, world.hostA);
  });
  afterEach(() => world.close());

  const people = () => world.app.people;
  const status = async () => (await world.admin('GET', '/v1/admin/library/status')).body;
  const grantsOf = async (name: string) => {
    const tile = (await world.tiles()).find((each) => each.name === name);
    return (await world.admin('GET', `/v1/admin/apps/${tile?.id}/entitlements`)).body.items;
  };
  async function claimed(): Promise<string> {
    await world.force();
    const [task] = await world.hostA.poll();
    if (task === undefined) throw new Error('no scan was handed out');
    return task.scan_id;
  }

  test('publish tiles for the owner of the home only', async () => {
    const answer = await world.scan(world.hostA, [{ id: '440', name: ' Sample Quest ' }, '228980']);
    expect([answer.status, answer.body]).toEqual([200, { accepted: true }]);
    expect(await world.seenBy(people().alice)).toEqual(['Sample Quest']);
    expect(await world.seenBy(people().bob)).toEqual([]);
    expect(await world.tiles()).toMatchObject([
      { name: 'Sample Quest', external_id: '440', enabled: 1, origin: 'discovered' },
    ]);
    expect(await grantsOf('Sample Quest')).toMatchObject([
      {
        subject_type: 'user',
        subject_id: people().alice.id,
        granted_by: 'provider',
        granted_by_user: null,
        source_ref: 'library:steam:440',
      },
    ]);
    expect(await status()).toMatchObject({
      inert_reason: '',
      last_scan_completed_at: expect.any(String),
      scans: { pending: 0, claimed: 0, reported: 1, failed: 0 },
      recent_scans: [
        {
          user: 'alice',
          host: 'host-a',
          state: 'reported',
          ...{ observed: 2, suppressed: 1, created: 1, disabled: 0, granted: 1, revoked: 0, rejected: 0 },
        },
      ],
    });
  });

  test('a tile has the profile choice of its parent and nothing of its own', async () => {
    await world.admin('PATCH', `/v1/apps/${world.providerId}`, {
      default_profile_id: '1080p60',
      profile_policy: 'prefer',
    });
    await world.scan(world.hostA, ['440']);
    const { id } = (await world.tiles())[0] ?? {};
    expect((await world.admin('GET', `/v1/apps/${id}`)).body.app).toMatchObject({
      kind: 'game',
      origin: 'discovered',
      parent_app_id: world.providerId,
      external_source: 'steam',
      default_profile_id: '1080p60',
      profile_policy: 'prefer',
      runtime_spec: {},
      managed_home: false,
      library_provider: '',
    });
  });

  describe('a home that is collected', () => {
    const collect = async (host: TestHost, homeId: string) => {
      const { db } = world.app.plane.platform.database;
      await db.updateTable('storage_homes').set({ gc_after: 0 }).where('id', '=', homeId).execute();
      const answer = await host.call('POST', '/v1/agent/storage/gc-confirm', { home_ids: [homeId] });
      expect(answer.body.deleted_ids).toEqual([homeId]);
    };
    const observed = () =>
      world.app.plane.platform.database.db
        .selectFrom('library_observations')
        .select(['host_id', 'external_id'])
        .orderBy('external_id')
        .execute();
    const homeOn = async (host: TestHost) =>
      (
        await world.app.plane.platform.database.db
          .selectFrom('storage_homes')
          .select('id')
          .where('host_id', '=', host.id)
          .executeTakeFirstOrThrow()
      ).id;

    test('deletes its titles, but not those that another home of the person has', async () => {
      await world.addHome(people().alice, world.hostB);
      await world.admin('PATCH', '/v1/admin/settings', { library_discovery_enabled: true });
      await world.force();
      for (const [host, titles] of [
        [world.hostA, ['440', '570']],
        [world.hostB, ['570']],
      ] as const) {
        const [task] = await host.poll();
        await world.report(host, task?.scan_id ?? '', titles);
      }
      await world.addHome(people().bob, world.hostA);
      expect(await world.seenBy(people().alice)).toEqual(['Title 440', 'Title 570']);
      const gone = await world.app.plane.platform.database.db
        .selectFrom('storage_homes')
        .select('id')
        .where('host_id', '=', world.hostA.id)
        .where('user_id', '=', people().alice.id)
        .executeTakeFirstOrThrow();
      await collect(world.hostA, gone.id);
      expect(await observed()).toEqual([{ host_id: world.hostB.id, external_id: '570' }]);
      expect(await world.seenBy(people().alice)).toEqual(['Title 570']);
    });

    test('keeps entitlements of an administrator, and the tiles', async () => {
      await world.scan(world.hostA, ['440', '570']);
      const tile = (await world.tiles()).find(({ external_id }) => external_id === '440');
      const [granted] = (await world.admin('GET', `/v1/admin/apps/${tile?.id}/entitlements`)).body.items;
      await world.admin('DELETE', `/v1/admin/apps/${tile?.id}/entitlements/${granted.id}`);
      await world.admin('POST', `/v1/admin/apps/${tile?.id}/entitlements`, {
        subject_type: 'user',
        subject_id: people().alice.id,
      });
      const before = await world.tiles();
      await collect(world.hostA, await homeOn(world.hostA));
      expect(await world.seenBy(people().alice)).toEqual(['Title 440']);
      expect(await world.tiles()).toEqual(before);
    });

    test('while the service ended between both is forgotten by the next pass, also with discovery off', async () => {
      await world.scan(world.hostA, ['440']);
      await world.app.plane.platform.database.db.deleteFrom('storage_homes').execute();
      expect(await observed()).toHaveLength(1);
      await world.admin('PATCH', '/v1/admin/settings', { library_discovery_enabled: false });
      await world.app.plane.platform.jobs.runNow('library.discovery');
      expect(await observed()).toEqual([]);
    });
  });

  test('a second person gets the same tile', async () => {
    await world.scan(world.hostA, ['440']);
    await world.addHome(people().bob, world.hostB);
    await world.scan(world.hostB, ['440']);
    expect(await world.tiles()).toHaveLength(1);
    expect(await world.seenBy(people().bob)).toEqual(['Title 440']);
  });

  test('a title that is in no home of a person any more is revoked, the tile stays', async () => {
    await world.addHome(people().alice, world.hostB);
    await world.force();
    const [onA] = await world.hostA.poll();
    const [onB] = await world.hostB.poll();
    await world.report(world.hostA, onA?.scan_id ?? '', ['440', '441']);
    await world.report(world.hostB, onB?.scan_id ?? '', ['440']);
    await world.scan(world.hostA, []);
    expect(await world.seenBy(people().alice)).toEqual(['Title 440']);
    await world.force();
    const [again] = await world.hostB.poll();
    await world.report(world.hostB, again?.scan_id ?? '', []);
    expect(await world.seenBy(people().alice)).toEqual([]);
    expect(await world.tiles()).toHaveLength(2);
  });

  test('one person adds as many tiles in a month as a report has titles, and no more', async () => {
    await world.scan(world.hostA, ['440']);
    const { db } = world.app.plane.platform.database;
    await db.updateTable('library_scans').set({ created: 9_998 }).execute();
    // The homes of one person count together.
    await world.addHome(people().alice, world.hostB);
    await world.force();
    const [task] = await world.hostB.poll();
    await world.report(world.hostB, task?.scan_id ?? '', ['440', '441', '442', '443', '444']);
    expect(await world.tiles()).toHaveLength(3);
    expect(await world.seenBy(people().alice)).toHaveLength(3);
    const unpublished = await world.admin('GET', `/v1/admin/apps/${world.providerId}/library/unpublished`);
    expect(unpublished.body.items).toMatchObject([
      { external_id: '443', suppressed_by: 'other', has_tile: false },
      { external_id: '444', suppressed_by: 'other', has_tile: false },
    ]);
    // Another person has a separate count.
    await world.addHome(people().bob, world.hostA);
    await world.force();
    const tasks = await world.hostA.poll();
    for (const { scan_id } of tasks) await world.report(world.hostA, scan_id, ['441', '443']);
    expect(await world.seenBy(people().bob)).toEqual(['Title 441', 'Title 443']);
  });

  test('an incomplete report removes nothing, and adds', async () => {
    await world.scan(world.hostA, ['440']);
    await world.scan(world.hostA, ['441'], { complete: false, error: 'the time limit' });
    expect(await world.seenBy(people().alice)).toEqual(['Title 440', 'Title 441']);
    expect((await status()).recent_scans[0]).toMatchObject({ state: 'reported', error: 'the time limit' });
    await world.scan(world.hostA, ['441']);
    expect(await world.seenBy(people().alice)).toEqual(['Title 441']);
  });

  test('a title that is downloading gets its tile when it is installed', async () => {
    await world.scan(world.hostA, [{ id: '440', flags: 1026 }]);
    expect(await world.tiles()).toEqual([]);
    const unpublished = await world.admin('GET', `/v1/admin/apps/${world.providerId}/library/unpublished`);
    expect(unpublished.body.items).toMatchObject([
      { external_id: '440', suppressed_by: 'other', has_tile: false },
    ]);
    await world.scan(world.hostA, ['440']);
    expect(await world.seenBy(people().alice)).toEqual(['Title 440']);
  });

  test('never change what an administrator did', async () => {
    await world.scan(world.hostA, ['1', '2', '3']);
    const [renamed, disabled, granted] = await world.tiles();
    await world.admin('PATCH', `/v1/apps/${renamed?.id}`, { name: 'My name', description: 'My text' });
    await world.admin('PATCH', `/v1/apps/${disabled?.id}`, { enabled: false });
    const grant = { subject_type: 'user', subject_id: people().bob.id };
    await world.admin('POST', `/v1/admin/apps/${granted?.id}/entitlements`, grant);
    const own = await world.admin('POST', '/v1/apps', {
      name: 'By hand',
      parent_app_id: world.providerId,
      external_source: 'steam',
      external_id: '228980',
    });
    expect(own.status, own.text).toBe(201);
    const before = await world.admin('GET', `/v1/apps/${own.body.app.id}`);
    await world.scan(world.hostA, [{ id: '1', name: 'Other' }, '2', '228980']);
    await world.scan(world.hostA, []);
    const tiles = await world.tiles();
    expect(tiles.find(({ external_id }) => external_id === '1')?.name).toBe('My name');
    expect(tiles.find(({ external_id }) => external_id === '2')?.enabled).toBe(0);
    expect(await world.seenBy(people().bob)).toEqual(['By hand', 'Title 3']);
    expect((await world.admin('GET', `/v1/apps/${own.body.app.id}`)).body).toEqual(before.body);
  });

  test('titles without a valid id are counted and nothing else', async () => {
    await world.scan(world.hostA, ['0', '044', 'x', '12345678901', '440', '440']);
    expect((await status()).recent_scans[0]).toMatchObject({ rejected: 4, observed: 1, created: 1 });
  });

  test('of a scan that could read nothing fail the scan and change nothing else', async () => {
    await world.scan(world.hostA, ['440']);
    const error = 'é'.repeat(1000);
    const answer = await world.scan(world.hostA, ['441'], { ok: false, error });
    expect(answer.body).toEqual({ accepted: true });
    expect(await world.seenBy(people().alice)).toEqual(['Title 440']);
    expect((await status()).recent_scans[0]).toMatchObject({ state: 'failed', error: 'é'.repeat(512) });
  });

  test('of the longest library are taken', async () => {
    const titles = Array.from({ length: 10_000 }, (_, n) => ({ id: String(n + 1), flags: 0 }));
    const answer = await world.scan(world.hostA, titles);
    expect([answer.status, answer.text]).toEqual([200, '{"accepted":true}']);
    expect((await status()).recent_scans[0]).toMatchObject({ observed: 10_000, created: 0 });
  });

  test('of two thousand new titles publish all of them, and an empty report revokes all of them', async () => {
    const titles = Array.from({ length: 2000 }, (_, n) => String(n + 1));
    await world.scan(world.hostA, titles);
    expect((await status()).recent_scans[0]).toMatchObject({ created: 2000, granted: 2000 });
    await world.scan(world.hostA, titles);
    expect((await status()).recent_scans[0]).toMatchObject({ observed: 2000, created: 0, granted: 0 });
    await world.scan(world.hostA, []);
    expect((await status()).recent_scans[0]).toMatchObject({ observed: 0, revoked: 2000 });
    expect(await world.seenBy(people().alice)).toEqual([]);
  });

  test('of an app that is no provider any more fail the scan', async () => {
    const id = await claimed();
    await world.admin('PATCH', `/v1/apps/${world.providerId}`, { library_provider: '' });
    expect((await world.report(world.hostA, id, ['440'])).status).toBe(200);
    expect(await world.tiles()).toEqual([]);
    expect(await status()).toMatchObject({ scans: { failed: 1 } });
  });

  describe('are refused', () => {
    const reportOf = (id: string) => ({ scan_id: id, ok: true, entries: [] });

    test('with one and the same answer for a wrong secret, an unknown scan and one of another host', async () => {
      const path = '/v1/agent/library/scan-report';
      const id = await claimed();
      const before = await dumpDatabase(world.app.plane.platform.database);
      const answers = [
        await world.hostB.call('POST', path, reportOf(id)),
        await world.hostA.call('POST', path, reportOf(UNKNOWN_ID)),
        await world.hostB.call('POST', path, reportOf(randomUUID())),
        await world.app.call(null, 'POST', path, {
          body: reportOf(id),
          headers: { 'x-service-node': 'host-a', authorization: `Bearer ${'A'.repeat(43)}` },
        }),
      ];
      for (const answer of answers) refused(answer, 401, 'unauthorized');
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(await dumpDatabase(world.app.plane.platform.database)).toEqual(before);
    });

    test('malformed ones with 400, before their owner is looked at', async () => {
      const path = '/v1/agent/library/scan-report';
      const id = await claimed();
      for (const body of ['{', '[]', {}, { scan_id: id }, { ...reportOf(id), entries: [{}] }]) {
        refused(await world.hostA.call('POST', path, body), 400, 'validation_failed');
      }
      refused(await world.hostB.call('POST', path, { scan_id: id, ok: 'yes' }), 400, 'validation_failed');
      expect(await status()).toMatchObject({ scans: { claimed: 1 } });
    });

    test('of a scan that is not claimed with 409, and unknown keys are ignored', async () => {
      const id = await claimed();
      expect((await world.report(world.hostA, id, ['440'], { more: 1 })).status).toBe(200);
      refused(await world.report(world.hostA, id, []), 409, 'conflict');
      expect(await world.seenBy(people().alice)).toEqual(['Title 440']);
      await world.force();
      const [task] = await world.hostA.poll();
      await world.app.clock.advance(30 * MINUTE_MS);
      await world.force();
      refused(await world.report(world.hostA, task?.scan_id ?? '', []), 409, 'conflict');
      expect(await world.seenBy(people().alice)).toEqual(['Title 440']);
    });

    test('over 4 MiB with 400', async () => {
      const id = await claimed();
      const body = { ...reportOf(id), padding: 'x'.repeat(4 * 1024 * 1024) };
      refused(
        await world.hostA.call('POST', '/v1/agent/library/scan-report', body),
        400,
        'validation_failed',
      );
    });
  });

  test('two at once of one scan count once', async () => {
    const id = await claimed();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => world.report(world.hostA, id, ['440'])),
    );
    expect(answers.map(({ status: code }) => code).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    expect(await grantsOf('Title 440')).toHaveLength(1);
  });

  test('everything is deleted with the person, and with the app', async () => {
    await world.scan(world.hostA, ['440']);
    await world.admin('DELETE', `/v1/users/${people().alice.id}`);
    const { db } = world.app.plane.platform.database;
    expect(await db.selectFrom('library_observations').selectAll().execute()).toEqual([]);
    expect(await db.selectFrom('library_scans').selectAll().execute()).toEqual([]);
    const removed = await world.admin('DELETE', `/v1/apps/${world.providerId}?delete_derived=true`);
    expect(removed.status, removed.text).toBe(204);
  });
});
