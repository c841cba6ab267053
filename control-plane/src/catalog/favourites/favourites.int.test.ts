import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  createTestApp,
  describeDatabases,
  type Person,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

describeDatabases('favourites', ({ fresh }) => {
  let app: TestApp;
  let admin: Person;
  let alice: Person;
  let appId: string;
  beforeAll(async () => {
    app = await createTestApp(await fresh());
    ({ admin, alice } = app.people);
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.clock.pass(1_000);
    appId = await create();
  });

  async function create(body: object = {}): Promise<string> {
    const answer = await app.call(admin, 'POST', '/v1/apps', { body: { name: 'Demo', ...body } });
    return answer.body.app.id;
  }
  const add = (as: Person, id: string) => app.call(as, 'PUT', `/v1/me/favourites/${id}`);
  const remove = (as: Person, id: string) => app.call(as, 'DELETE', `/v1/me/favourites/${id}`);
  /** The mark as the person's list shows it. */
  const listed = async (as: Person, id: string): Promise<boolean | undefined> => {
    const { body } = await app.call(as, 'GET', '/v1/apps?limit=1000');
    return body.items.find((item: { id: string }) => item.id === id)?.favourite;
  };
  const rows = () => app.plane.platform.database.db.selectFrom('favourites').selectAll().execute();

  test('are shown to that person in all reads of apps, also in lists that were read before', async () => {
    expect([await listed(alice, appId), await listed(app.people.bob, appId)]).toEqual([false, false]);
    const answer = await add(alice, appId);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect([await listed(alice, appId), await listed(app.people.bob, appId)]).toEqual([true, false]);
    expect((await app.call(alice, 'GET', `/v1/apps/${appId}`)).body.app.favourite).toBe(true);
    expect((await remove(alice, appId)).status).toBe(204);
    expect(await listed(alice, appId)).toBe(false);
  });

  test('keep their time when they are added again, and change no list then', async () => {
    await add(alice, appId);
    const before = await rows();
    const version = () =>
      app.plane.platform.database.db
        .selectFrom('catalog_version')
        .select('version')
        .executeTakeFirstOrThrow();
    const known = await version();
    await app.clock.pass(1_000);
    expect((await add(alice, appId)).status).toBe(204);
    expect(await rows()).toEqual(before);
    expect(await version()).toEqual(known);
    await remove(alice, UNKNOWN_ID);
    expect(await version()).toEqual(known);
  });

  test('404 comes before 403: an app that is absent, and for people one that is disabled', async () => {
    refused(await add(alice, UNKNOWN_ID), 404, 'not_found');
    const hidden = await create({ entitle: 'none', enabled: false });
    refused(await add(alice, hidden), 404, 'not_found');
    refused(await add(admin, hidden), 403, 'forbidden');
  });

  test('403 without an entitlement, for administrators too; a personal one is enough', async () => {
    const hidden = await create({ entitle: 'none' });
    for (const person of [alice, admin]) refused(await add(person, hidden), 403, 'forbidden');
    await app.call(admin, 'POST', `/v1/admin/apps/${hidden}/entitlements`, {
      body: { subject_type: 'user', subject_id: alice.id },
    });
    expect((await add(alice, hidden)).status).toBe(204);
    refused(await add(app.people.bob, hidden), 403, 'forbidden');
  });

  test('an administrator may mark a disabled app that they are entitled to', async () => {
    const disabled = await create({ enabled: false });
    expect((await add(admin, disabled)).status).toBe(204);
    refused(await add(alice, disabled), 404, 'not_found');
  });

  test('taking one away is 204 for everything: never marked, disabled, deleted, another person’s', async () => {
    const disabled = await create();
    await add(alice, disabled);
    await app.call(admin, 'PATCH', `/v1/apps/${disabled}`, { body: { enabled: false } });
    const deleted = await create();
    await app.call(admin, 'DELETE', `/v1/apps/${deleted}`);
    await add(app.people.bob, appId);
    for (const id of [disabled, deleted, appId, UNKNOWN_ID])
      expect((await remove(alice, id)).status).toBe(204);
    expect((await rows()).filter((row) => row.app_id === disabled)).toEqual([]);
    expect(await listed(app.people.bob, appId)).toBe(true);
  });

  test('go with their app and with their person', async () => {
    const carol = await app.addPerson(`carol-${appId}`);
    await add(carol, appId);
    await add(alice, appId);
    const { db } = app.plane.platform.database;
    await db.deleteFrom('users').where('id', '=', carol.id).execute();
    expect((await rows()).filter((row) => row.app_id === appId).map((row) => row.user_id)).toEqual([
      alice.id,
    ]);
    await app.call(admin, 'DELETE', `/v1/apps/${appId}`);
    expect((await rows()).filter((row) => row.app_id === appId)).toEqual([]);
  });

  test('concurrent marks and removals all succeed', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? add(alice, appId) : remove(alice, appId))),
    );
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([204]));
  });
});
