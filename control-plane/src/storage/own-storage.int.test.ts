import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';

describeDatabases('GET /v1/me/storage', ({ fresh }) => {
  let app: TestApp;
  const apps: Record<string, string> = {};
  beforeAll(async () => {
    app = await createTestApp(await fresh());
    for (const name of ['Beta', 'Alpha', 'Gone', 'Empty']) {
      const answer = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name } });
      apps[name] = answer.body.app.id;
    }
  });
  afterAll(() => app.close());

  let place = 0;
  const home = async (userId: string, appName: string, fields: object = {}) => {
    place += 1;
    await app.plane.platform.database.db
      .insertInto('storage_homes')
      .values({
        id: crypto.randomUUID(),
        user_id: userId,
        app_id: apps[appName] ?? null,
        host_id: null,
        provider: 'local',
        ref: `/homes/${place}`,
        bytes_used: 0,
        created_at: 1,
        last_used_at: 1,
        gc_after: null,
        ...fields,
      })
      .execute();
  };
  const read = async (as = app.people.alice) => (await app.call(as, 'GET', '/v1/me/storage')).body;

  test('is empty without homes', async () => {
    expect(await read()).toEqual({ items: [] });
  });

  test('has one row per app by name: bytes summed over hosts, the latest use, without homes marked for deletion', async () => {
    const { alice, bob } = app.people;
    const usedAt = app.clock.nowMs();
    await home(alice.id, 'Beta', { bytes_used: 3_000_000_000, last_used_at: usedAt });
    await home(alice.id, 'Beta', { bytes_used: 4_000_000_000, last_used_at: usedAt - 5 });
    await home(alice.id, 'Alpha', { bytes_used: 0, last_used_at: usedAt - 9 });
    await home(alice.id, 'Alpha', { bytes_used: 99, gc_after: usedAt });
    await home(alice.id, 'Gone', { bytes_used: 7 });
    await app.call(app.people.admin, 'DELETE', `/v1/apps/${apps.Gone}`);
    await home(bob.id, 'Empty', { bytes_used: 5 });
    expect(await read()).toEqual({
      items: [
        {
          app_id: apps.Alpha,
          app_name: 'Alpha',
          bytes_used: 0,
          last_used_at: new Date(usedAt - 9).toISOString(),
        },
        {
          app_id: apps.Beta,
          app_name: 'Beta',
          bytes_used: 7_000_000_000,
          last_used_at: new Date(usedAt).toISOString(),
        },
      ],
    });
    expect((await read(bob)).items).toHaveLength(1);
    expect(await read(app.people.admin)).toEqual({ items: [] });
  });
});
