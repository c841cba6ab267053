import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { DatabaseTarget } from '../platform/database/index.ts';
import { createTestApp, describeDatabases, loggedActivity, type TestApp } from '../testing/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'footlight-seed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, 'apps.json');
const plant = (content: unknown) =>
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));

const SEED = [
  { name: 'Gears', runtime_spec: { args: ['glxgears'] } },
  { name: 'Terminal', entitle: 'first_admin', kind: 'desktop' },
  { name: 'Later', entitle: 'none' },
];

describeDatabases('the seed file', (databases) => {
  const start = (target: DatabaseTarget): Promise<TestApp> =>
    createTestApp(target, { env: { SERVICE_SEED_FILE: file }, seedPeople: false });
  const namesOf = async (app: TestApp) =>
    (await app.plane.platform.database.db.selectFrom('apps').select('name').orderBy('name').execute()).map(
      ({ name }) => name,
    );

  test('fills an empty catalog; entitlements for the first administrator are added with that account', async () => {
    plant(SEED);
    const app = await start(await databases.fresh());
    expect(await namesOf(app)).toEqual(['Gears', 'Later', 'Terminal']);
    const { db } = app.plane.platform.database;
    const rows = await db.selectFrom('entitlements').selectAll().execute();
    expect(rows).toMatchObject([{ subject_type: 'all', granted_by: 'admin', granted_by_user: null }]);
    const entries = await loggedActivity(app, { action: 'app.create' });
    expect(entries.map(({ actor_user_id, details }) => [actor_user_id, details])).toEqual(
      SEED.map(({ name }) => [null, { name, seed: true }]),
    );

    const admin = await app.addPerson('first', 'admin');
    const alice = await app.addPerson('alice');
    const { database } = app.plane.platform;
    await database.transaction((tx) => app.plane.catalog.grantFirstAdminApps(tx, admin.id));
    // A second administrator, or the same call again, gets nothing more.
    await database.transaction((tx) => app.plane.catalog.grantFirstAdminApps(tx, alice.id));
    const seen = async (person: typeof admin) =>
      (await app.call(person, 'GET', '/v1/apps')).body.items
        .map((item: { name: string }) => item.name)
        .sort();
    expect(await seen(admin)).toEqual(['Gears', 'Terminal']);
    expect(await seen(alice)).toEqual(['Gears']);
    const own = await db.selectFrom('entitlements').selectAll().where('subject_id', '=', admin.id).execute();
    expect(own).toMatchObject([{ subject_type: 'user', granted_by: 'admin', granted_by_user: null }]);
    await app.close();
  });

  test('is not opened once there is an app or an administrator', async () => {
    plant(SEED);
    const target = await databases.fresh();
    const first = await start(target);
    await first.close();
    plant('not even JSON');
    const second = await start(target);
    expect(await namesOf(second)).toHaveLength(3);
    const admin = await second.addPerson('admin', 'admin');
    for (const { id } of await second.plane.platform.database.db.selectFrom('apps').select('id').execute()) {
      await second.call(admin, 'DELETE', `/v1/apps/${id}`);
    }
    await second.close();
    const third = await start(target);
    expect(await namesOf(third)).toEqual([]);
    await third.close();
  });

  test.each([
    ['not even JSON', /cannot be read as JSON/],
    [{ name: 'x' }, /must hold a list/],
    [[{ name: 'ok' }, { name: ' ' }], /entry 2: name/],
    [[{ name: 'ok' }, { name: 'x', colour: 'red' }], /entry 2/],
    [
      [{ name: 'ok' }, { name: 'Mounted', runtime_spec: { mounts: ['/etc:/etc'] } }],
      /entry 2 \(Mounted\): runtime_spec.mounts/,
    ],
    [[{ name: 'ok' }, { name: 'Library', library_provider: 'steam' }], /entry 2 \(Library\)/],
    [[{ name: 'ok' }, { name: 'x', default_profile_id: 'none' }], /entry 2 \(x\): default_profile_id/],
  ])('%j stops the boot by naming the entry, and nothing is written', async (content, message) => {
    plant(content);
    const target = await databases.fresh();
    await expect(start(target)).rejects.toThrow(message);
    plant([]);
    const app = await start(target);
    expect(await namesOf(app)).toEqual([]);
    await app.close();
  });

  test('a file that is not there stops the boot', async () => {
    const target = await databases.fresh();
    await expect(
      createTestApp(target, { env: { SERVICE_SEED_FILE: join(folder, 'missing.json') }, seedPeople: false }),
    ).rejects.toThrow(/SERVICE_SEED_FILE/);
  });
});
