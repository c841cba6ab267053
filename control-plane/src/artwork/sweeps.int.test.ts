import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, ofOneProcess, type TestApp } from '../testing/index.ts';
import { type FakeProvider, file, json, KEY, startFakeProvider } from './testing/fake-provider.ts';
import { HTML, png } from './testing/pictures.ts';

describeDatabases('the sweeps', (databases) => {
  let app: TestApp;
  let fake: FakeProvider;

  const start = async () =>
    createTestApp(await databases.fresh(), {
      overrides: { artwork: { policy: fake.policy, providerKey: KEY } },
    });
  beforeAll(async () => {
    fake = await startFakeProvider();
    app = await start();
  });
  afterAll(async () => {
    await app.close();
    await fake.close();
  });
  beforeEach(async () => {
    await app.plane.platform.database.db.deleteFrom('apps').execute();
    fake.games.length = 0;
    fake.files.clear();
    fake.broken = null;
    fake.calls.length = 0;
  });

  async function addApp(name: string, more: object = {}): Promise<string> {
    // Advance the time, because a pass handles the newest apps first.
    await app.clock.pass(1_000);
    const created = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name, ...more } });
    expect(created.status, created.text).toBe(201);
    return created.body.app.id;
  }
  const recordOf = async (id: string) =>
    (await app.call(app.people.admin, 'GET', `/v1/admin/apps/${id}/artwork`)).body.artwork;
  const upload = (id: string, bytes: Buffer, crop = 'tile') =>
    app.call(app.people.admin, 'POST', `/v1/admin/apps/${id}/artwork/upload?crop=${crop}`, {
      body: bytes,
      headers: { 'content-type': 'image/png' },
    });

  /**
   * Advances the time until the condition holds. Running fetches come closer to their deadlines by this.
   */
  async function passUntil(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await app.clock.pass(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  /** Runs a job to its end while the time advances. */
  async function run(job: 'artwork.sweep' | 'artwork.prune_orphans'): Promise<void> {
    let done = false;
    const ended = app.plane.jobs.runNow(job).finally(() => {
      done = true;
    });
    await passUntil(() => done);
    await ended;
  }
  const sweep = () => run('artwork.sweep');

  describe('artwork.sweep', () => {
    test('looks each app up as its kind and its shop allow', async () => {
      fake.games.push(
        { id: 1, name: 'Sample Quest', tile: png(6, 9, 1), hero: png(9, 3, 1) },
        { id: 2, name: 'Something else', steamId: '4711', tile: png(6, 9, 2) },
        { id: 3, name: 'Shop title', tile: png(6, 9, 3) },
        { id: 4, name: 'Bare title' },
      );
      const ids = {
        game: await addApp('Sample quest: GOTY Edition'),
        tile: await addApp('Whatever', { external_source: 'steam', external_id: '4711' }),
        unknown: await addApp('Shop title', { external_source: 'steam', external_id: '999' }),
        desktop: await addApp('Sample Quest', { kind: 'desktop' }),
        launcher: await addApp('Sample Quest', { kind: 'launcher' }),
        near: await addApp('Sample'),
        bare: await addApp('Bare title'),
      };
      await sweep();
      const seen = Object.fromEntries(
        await Promise.all(
          Object.entries(ids).map(async ([name, id]) => {
            const { source, provider_ref, locked } = await recordOf(id);
            return [name, [source, provider_ref, locked]];
          }),
        ),
      );
      expect(seen).toEqual({
        game: ['provider', '1', false],
        tile: ['provider', '2', false],
        // An app with a shop id is looked up only by the id, because another game may have the same name.
        unknown: ['none', '', false],
        desktop: ['none', '', false],
        launcher: ['none', '', false],
        near: ['none', '', false],
        bare: ['none', '', false],
      });
      expect(fake.calls.filter(({ path }) => path.includes('Shop'))).toEqual([]);
      expect(await recordOf(ids.game)).toMatchObject({
        matched_name: 'Sample Quest',
        attribution: 'Artwork via SteamGridDB',
      });
      const listed = (await app.call(app.people.admin, 'GET', `/v1/apps/${ids.game}`)).body.app;
      expect(listed.cover_url).toMatch(/^\/v1\/artwork\/[0-9a-f]{64}\.png$/);
      expect((await app.call(null, 'GET', listed.hero_url)).status).toBe(200);

      // Each app is looked up once, whether it is found or not.
      fake.calls.length = 0;
      await sweep();
      expect(fake.calls).toEqual([]);
    });

    test('takes 25 apps in a pass, newest first', async () => {
      const ids = [];
      for (let n = 0; n < 27; n += 1) ids.push(await addApp(`Unknown ${n}`, { kind: 'desktop' }));
      await sweep();
      const found = await Promise.all(ids.map(recordOf));
      expect(found.map((record) => record !== null)).toEqual([false, false, ...Array(25).fill(true)]);
      await sweep();
      expect(await recordOf(ids[0] as string)).not.toBeNull();
    });

    test('writes no record while the provider fails, and tries again in the next pass', async () => {
      fake.games.push({ id: 1, name: 'Sample Quest', tile: png(6, 9, 1) });
      const id = await addApp('Sample Quest');
      fake.broken = (_request, response) => json(response, 429, {});
      await sweep();
      expect(await recordOf(id)).toBeNull();
      fake.broken = null;
      await sweep();
      expect(await recordOf(id)).toMatchObject({ source: 'provider' });
    });

    test('stops asking a provider that fails again and again, and a failing title does not delay the others', async () => {
      fake.broken = (_request, response) => json(response, 500, {});
      const ids = [];
      for (let n = 0; n < 5; n += 1) ids.push(await addApp(`Sample ${n}`));
      await sweep();
      expect(fake.calls).toHaveLength(3);
      fake.calls.length = 0;
      await sweep();
      // The two untried apps come first, then one that failed before.
      expect(fake.calls.map(({ path }) => path.slice(-1))).toEqual(['1', '0', '4']);
    });

    test('tries the next picture where one cannot be fetched, and none at all is a failure', async () => {
      fake.games.push({ id: 1, name: 'Sample Quest', tile: png(6, 9, 1) });
      fake.files.set('/pictures/1/tile.png', file(HTML, 'image/png'));
      const id = await addApp('Sample Quest');
      await sweep();
      expect(await recordOf(id)).toBeNull();
    });

    test('never touches what an administrator chose, not even while it looks', async () => {
      fake.games.push({ id: 1, name: 'Sample Quest', tile: png(6, 9, 1) });
      const id = await addApp('Sample Quest');
      const waiting: (() => void)[] = [];
      fake.files.set('/pictures/1/tile.png', (request, response) => {
        waiting.push(() => file(png(6, 9, 1), 'image/png')(request, response));
      });
      const running = app.plane.jobs.runNow('artwork.sweep');
      await passUntil(() => waiting.length > 0);
      // An administrator uploads a picture while the look-up runs.
      expect((await upload(id, png(6, 9, 77))).status).toBe(200);
      waiting[0]?.();
      await passUntil(() => fake.calls.length === 3);
      await running;
      expect(await recordOf(id)).toMatchObject({ source: 'manual', locked: true });
    });
  });

  describe('artwork.prune_orphans', () => {
    const blob = (path: string) =>
      join(
        app.dir,
        'artwork',
        path.slice('/v1/artwork/'.length).slice(0, 2),
        path.slice('/v1/artwork/'.length),
      );

    test('removes pictures that no record names, with their sizes, and keeps the others', async () => {
      const [one, two] = [await addApp('One'), await addApp('Two')];
      const tileOf = async (id: string, seed: number) =>
        (await upload(id, png(6, 9, seed))).body.artwork.tile_url as string;
      const replaced = await tileOf(one, 1);
      await app.plane.inject({ method: 'GET', url: `${replaced}?w=300` });
      const shared = await tileOf(one, 2);
      await tileOf(two, 2);
      const hero = (await upload(two, png(9, 3, 3), 'hero')).body.artwork.hero_url as string;
      await app.call(app.people.admin, 'DELETE', `/v1/admin/apps/${one}/artwork`);
      const size = join(app.dir, 'artwork', 'sizes', replaced.slice(12, 14), `${replaced.slice(12)}.300`);
      expect([existsSync(blob(replaced)), existsSync(size)]).toEqual([true, true]);
      await run('artwork.prune_orphans');
      expect([existsSync(blob(replaced)), existsSync(size)]).toEqual([false, false]);
      expect([existsSync(blob(shared)), existsSync(blob(hero))]).toEqual([true, true]);
      expect((await app.call(null, 'GET', replaced)).status).toBe(404);
    });

    // A replica keeps the young files of the others. Here all files look old, because the clock of the test is not theirs.
    ofOneProcess(
      'never removes a picture whose record is being written, however often both run at once',
      async () => {
        const ids = await Promise.all(Array.from({ length: 6 }, (_, n) => addApp(`App ${n}`)));
        for (let round = 0; round < 6; round += 1) {
          const uploads = ids.map((id, n) => upload(id, png(6, 9, 500 + round * 3 + (n % 3))));
          const sweeps = [run('artwork.prune_orphans'), run('artwork.prune_orphans')];
          const answers = await Promise.all(uploads);
          await Promise.all(sweeps);
          for (const answer of answers) {
            expect(answer.status).toBe(200);
            expect(existsSync(blob(answer.body.artwork.tile_url))).toBe(true);
          }
        }
      },
    );

    test('ignores files of others', async () => {
      const foreign = join(app.dir, 'artwork', 'ab', 'notes.txt');
      mkdirSync(dirname(foreign), { recursive: true });
      writeFileSync(foreign, 'mine');
      await run('artwork.prune_orphans');
      expect(existsSync(foreign)).toBe(true);
    });
  });

  test('run by themselves, the lookup 15 minutes after its last one, and end with the service even while they wait', async () => {
    const own = await start();
    await own.plane.listen();
    await own.clock.pass(5_000);
    await expect
      .poll(async () => (await own.plane.jobs.admin.read('artwork.sweep')).last_run)
      .toMatchObject({ state: 'succeeded', summary: { apps_considered: 0 } });
    await own.call(own.people.admin, 'POST', '/v1/apps', { body: { name: 'Sample Quest' } });
    fake.broken = () => undefined;
    await own.clock.pass(14 * 60_000);
    expect(fake.calls).toEqual([]);
    await expect
      .poll(async () => {
        await own.clock.pass(10_000);
        return fake.calls.length;
      })
      .toBe(1);
    await own.close();
  });
});

describeDatabases('a start', (databases) => {
  test('removes the pictures that no record names', async () => {
    const target = await databases.fresh();
    const before = await createTestApp(target);
    const orphan = join(before.dir, 'kept', 'ab', `ab${'0'.repeat(62)}.png`);
    await before.plane.close();
    mkdirSync(dirname(orphan), { recursive: true });
    writeFileSync(orphan, png(2, 3));
    const after = await createTestApp(target, {
      seedPeople: false,
      env: { SERVICE_ARTWORK_DIR: join(before.dir, 'kept') },
    });
    expect(existsSync(orphan)).toBe(false);
    await after.close();
    await before.close();
  });
});
