import { type ErrorCode, entitlement } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  type Person,
  type TestApp,
} from '../../testing/index.ts';

const UNKNOWN_ID = '00000000-0000-0000-0000-000000000000';
const RUNS = process.env.FOOTLIGHT_LONG === '1' ? 300 : 6;

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

  const refused = (answer: Answer, status: number, code: ErrorCode) =>
    expect([answer.status, answer.body?.error?.code]).toEqual([status, code]);
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
    const { database } = app.plane.platform;
    const rows = await database.db
      .selectFrom('activity')
      .selectAll()
      .where('target_id', '=', id)
      .orderBy('id')
      .execute();
    expect(rows.map(({ action, details }) => [action, JSON.parse(details)]).slice(1)).toEqual([
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
  ])('400 for %j', async (body) => refused(await grant(await newApp(), body), 400, 'validation_failed'));

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

  describe('whatever is granted, revoked, enabled and disabled in whatever order', () => {
    type Step =
      | { kind: 'grant'; app: number; subject: 'all' | 'alice' | 'bob' }
      | { kind: 'revoke'; app: number; subject: 'all' | 'alice' | 'bob' }
      | { kind: 'enable'; app: number }
      | { kind: 'disable'; app: number };
    const step = fc.oneof(
      fc.record({
        kind: fc.constantFrom('grant' as const, 'revoke' as const),
        app: fc.nat(2),
        subject: fc.constantFrom('all' as const, 'alice' as const, 'bob' as const),
      }),
      fc.record({ kind: fc.constantFrom('enable' as const, 'disable' as const), app: fc.nat(2) }),
    ) as fc.Arbitrary<Step>;

    test('a list shows exactly the enabled apps that some row entitles to', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const apps = [await newApp(), await newApp(), await newApp()];
          const enabled = [true, true, true];
          const rows = new Map<string, string>();
          for (const next of steps) {
            const id = apps[next.app] as string;
            if (next.kind === 'enable' || next.kind === 'disable') {
              enabled[next.app] = next.kind === 'enable';
              await app.call(admin, 'PATCH', `/v1/apps/${id}`, { body: { enabled: next.kind === 'enable' } });
            } else if (next.kind === 'grant') {
              const subject = next.subject;
              const body =
                subject === 'all'
                  ? { subject_type: 'all' }
                  : { subject_type: 'user', subject_id: app.people[subject].id };
              const answer = await grant(id, body);
              const key = `${next.app}/${subject}`;
              expect(answer.status).toBe(rows.has(key) ? 409 : 201);
              if (answer.status === 201) rows.set(key, answer.body.entitlement.id);
            } else {
              const key = `${next.app}/${next.subject}`;
              const row = rows.get(key);
              if (row === undefined) continue;
              rows.delete(key);
              expect((await revoke(id, row)).status).toBe(204);
            }
            for (const name of ['alice', 'bob'] as const) {
              for (const [index, appId] of apps.entries()) {
                const entitled = rows.has(`${index}/all`) || rows.has(`${index}/${name}`);
                expect(await sees(app.people[name], appId)).toBe(Boolean(enabled[index] && entitled));
              }
            }
          }
          for (const id of apps) await app.call(admin, 'DELETE', `/v1/apps/${id}`);
        }),
        { numRuns: RUNS },
      );
    });
  });
});
