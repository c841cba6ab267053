import { entitlement } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestApp,
  describeDatabases,
  loggedActivity,
  type Person,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

describeDatabases('entitlements', (databases) => {
  let app: TestApp;
  let admin: Person;
  let alice: Person;
  let bob: Person;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    ({ admin, alice, bob } = app.people);
  });
  afterAll(() => app.close());

  const newApp = async (): Promise<string> =>
    (await app.call(admin, 'POST', '/v1/apps', { body: { name: 'App', entitle: 'none' } })).body.app.id;
  const grant = (id: string, body: unknown) =>
    app.call(admin, 'POST', `/v1/admin/apps/${id}/entitlements`, { body });
  const revoke = (id: string, row: string) =>
    app.call(admin, 'DELETE', `/v1/admin/apps/${id}/entitlements/${row}`);
  const sees = async (person: Person, id: string): Promise<boolean> => {
    const list = await app.call(person, 'GET', '/v1/apps?limit=1000');
    return list.body.items.some((item: { id: string }) => item.id === id);
  };

  test('one account is granted an app, sees it at once, and loses it at once', async () => {
    const id = await newApp();
    expect(await sees(alice, id)).toBe(false);
    const answer = await grant(id, { subject_type: 'user', subject_id: alice.id.toUpperCase() });
    expect(answer.status).toBe(201);
    expect(entitlement.strict().parse(answer.body.entitlement)).toMatchObject({
      subject_type: 'user',
      subject_id: alice.id,
      subject_username: 'alice',
      app_id: id,
      app_name: 'App',
      granted_by: 'admin',
      granted_by_user: admin.id,
      source_ref: '',
    });
    expect([await sees(alice, id), await sees(bob, id), await sees(admin, id)]).toEqual([true, false, false]);
    expect((await revoke(id, answer.body.entitlement.id)).status).toBe(204);
    expect(await sees(alice, id)).toBe(false);
    refused(await revoke(id, answer.body.entitlement.id), 404, 'not_found');
    const rows = await loggedActivity(app, { target_id: id });
    expect(rows.map(({ action, details }) => [action, details]).slice(1)).toEqual([
      [
        'app.entitlement.grant',
        { entitlement_id: answer.body.entitlement.id, subject_type: 'user', subject_id: alice.id },
      ],
      [
        'app.entitlement.revoke',
        {
          entitlement_id: answer.body.entitlement.id,
          subject_type: 'user',
          subject_id: alice.id,
          granted_by: 'admin',
        },
      ],
    ]);
  });

  test.each([[undefined], [null], ['']])('everybody takes no subject: %j', async (subject_id) => {
    const id = await newApp();
    const answer = await grant(id, { subject_type: 'all', ...(subject_id !== undefined && { subject_id }) });
    expect([answer.status, answer.body.entitlement.subject_id]).toEqual([201, null]);
    expect([await sees(alice, id), await sees(bob, id)]).toEqual([true, true]);
  });

  test.each([
    [{}],
    [{ subject_type: 'group' }],
    [{ subject_type: 'all', subject_id: UNKNOWN_ID }],
    [{ subject_type: 'user' }],
    [{ subject_type: 'user', subject_id: null }],
    [{ subject_type: 'user', subject_id: '' }],
    [{ subject_type: 'user', subject_id: 'alice' }],
    [{ subject_type: 'all', granted_by: 'provider' }],
  ])('400 for %j', async (body) => {
    refused(await grant(await newApp(), body), 400, 'validation_failed');
  });

  test('an unknown app or account: 404', async () => {
    refused(await grant(UNKNOWN_ID, { subject_type: 'all' }), 404, 'not_found');
    refused(await grant(await newApp(), { subject_type: 'user', subject_id: UNKNOWN_ID }), 404, 'not_found');
    refused(await app.call(admin, 'GET', `/v1/admin/apps/${UNKNOWN_ID}/entitlements`), 404, 'not_found');
    refused(await revoke(await newApp(), UNKNOWN_ID), 404, 'not_found');
    refused(await revoke(await newApp(), 'x'), 400, 'validation_failed');
  });

  test('a row of another app is not revoked through this one', async () => {
    const [mine, other] = [await newApp(), await newApp()];
    const row = (await grant(mine, { subject_type: 'all' })).body.entitlement.id;
    refused(await revoke(other, row), 404, 'not_found');
    expect(await sees(alice, mine)).toBe(true);
  });

  test('held twice: 409, also for ten at once', async () => {
    const id = await newApp();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => grant(id, { subject_type: 'user', subject_id: bob.id })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    refused(await grant(id, { subject_type: 'user', subject_id: bob.id }), 409, 'conflict');
  });

  test("everybody's row and a personal one are independent: revoking one leaves the other", async () => {
    for (const first of ['all', 'user'] as const) {
      const id = await newApp();
      const rows = {
        all: (await grant(id, { subject_type: 'all' })).body.entitlement.id,
        user: (await grant(id, { subject_type: 'user', subject_id: alice.id })).body.entitlement.id,
      };
      const { body } = await app.call(alice, 'GET', '/v1/apps?limit=1000');
      expect(body.items.filter((item: { id: string }) => item.id === id)).toHaveLength(1);
      expect((await revoke(id, rows[first])).status).toBe(204);
      expect([await sees(alice, id), await sees(bob, id)]).toEqual([true, first === 'user']);
      expect((await revoke(id, rows[first === 'all' ? 'user' : 'all'])).status).toBe(204);
      expect([await sees(alice, id), await sees(bob, id)]).toEqual([false, false]);
    }
  });

  test('of ten that revoke one row at once, one does', async () => {
    const id = await newApp();
    const row = (await grant(id, { subject_type: 'all' })).body.entitlement.id;
    const answers = await Promise.all(Array.from({ length: 10 }, () => revoke(id, row)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)]);
  });

  test('the list has everybody first, then accounts by name', async () => {
    const id = await newApp();
    for (const person of [bob, alice]) await grant(id, { subject_type: 'user', subject_id: person.id });
    await grant(id, { subject_type: 'all' });
    const { status, body } = await app.call(admin, 'GET', `/v1/admin/apps/${id}/entitlements`);
    expect(status).toBe(200);
    expect(body.items.map((item: { subject_username: string | null }) => item.subject_username)).toEqual([
      null,
      'alice',
      'bob',
    ]);
  });

  test('the list of an account has its own rows only, by app name', async () => {
    const carol = await app.addPerson('carol');
    for (const name of ['Zebra', 'Aardvark']) {
      const { body } = await app.call(admin, 'POST', '/v1/apps', { body: { name } });
      await grant(body.app.id, { subject_type: 'user', subject_id: carol.id });
    }
    const items = await app.plane.catalog.entitlements.listOfUser(carol.id);
    expect(items.map((item) => [item.app_name, item.subject_username])).toEqual([
      ['Aardvark', 'carol'],
      ['Zebra', 'carol'],
    ]);
    for (const item of items) expect(entitlement.strict().parse(item)).toEqual(item);
    expect(await app.plane.catalog.entitlements.listOfUser(UNKNOWN_ID)).toEqual([]);
  });

  describe("the entitlement mode of a library provider's app", () => {
    const setMode = (provider: string, body: unknown, as = admin) =>
      app.call(as, 'POST', `/v1/admin/library-providers/${encodeURIComponent(provider)}/entitlement-mode`, {
        body,
      });
    const items = async (id: string) =>
      (await app.call(admin, 'GET', `/v1/admin/apps/${id}/entitlements`)).body.items;

    test('404 while no app has the provider, after faults of the request', async () => {
      refused(await setMode('steam', { mode: 'all' }), 404, 'not_found');
      for (const body of [
        {},
        { mode: 'some' },
        { mode: '' },
        { mode: null },
        { mode: 'all', app_id: UNKNOWN_ID },
      ])
        refused(await setMode('nobody', body), 400, 'validation_failed');
      for (const provider of [' ', '\t', '\0'])
        refused(await setMode(provider, { mode: 'all' }), 400, 'validation_failed');
    });

    test('replaces every row of the oldest app with the provider, with any grantor', async () => {
      const { database } = app.plane.platform;
      const [oldest, newer] = [await newApp(), await newApp()].sort() as [string, string];
      for (const [id, created_at] of [[newer, 5] as const, [oldest, 5] as const])
        await database.db
          .updateTable('apps')
          .set({ library_provider: 'steam', created_at })
          .where('id', '=', id)
          .execute();
      await grant(newer, { subject_type: 'user', subject_id: bob.id });
      await grant(oldest, { subject_type: 'all' });
      await grant(oldest, { subject_type: 'user', subject_id: alice.id });
      await database.db
        .updateTable('entitlements')
        .set({ granted_by: 'provider', granted_by_user: null, source_ref: 'library:steam:1' })
        .where('app_id', '=', oldest)
        .execute();
      const others = await items(newer);

      const own = await setMode(' STEAM ', { mode: 'user' });
      expect([own.status, own.body.entitlement_mode]).toEqual([
        200,
        { provider: 'steam', app_id: oldest, mode: 'user', items: await items(oldest) },
      ]);
      expect(own.body.entitlement_mode.items).toMatchObject([
        {
          subject_type: 'user',
          subject_id: admin.id,
          granted_by: 'admin',
          granted_by_user: admin.id,
          source_ref: '',
        },
      ]);
      expect([await sees(admin, oldest), await sees(alice, oldest)]).toEqual([true, false]);

      const everybody = await setMode('steam', { mode: 'all' });
      expect(everybody.body.entitlement_mode.items).toMatchObject([
        { subject_type: 'all', granted_by: 'admin' },
      ]);
      expect([await sees(alice, oldest), await sees(bob, oldest)]).toEqual([true, true]);

      const nobody = await setMode('steam', { mode: 'none' });
      expect(nobody.body.entitlement_mode).toEqual({
        provider: 'steam',
        app_id: oldest,
        mode: 'none',
        items: [],
      });
      expect(await sees(alice, oldest)).toBe(false);
      expect(await items(newer)).toEqual(others);
      const rows = await loggedActivity(app, { action: 'app.entitlement.set_mode' });
      expect(rows.map((row) => [row.actor_user_id, row.target_type, row.target_id, row.details])).toEqual(
        [
          ['user', 1],
          ['all', 1],
          ['none', 0],
        ].map(([mode, item_count]) => [admin.id, 'app', oldest, { provider: 'steam', mode, item_count }]),
      );
    });
  });
});
