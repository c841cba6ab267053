import { type AdminApp, appListItem } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type Answer,
  addSession,
  createTestApp,
  describeDatabases,
  type Person,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';

describeDatabases('reading apps', (databases) => {
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
  const created = async (body: object): Promise<AdminApp> => {
    const answer = await create(body);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.app;
  };
  const session = (appId: string, state: 'pending' | 'stopped', ageDays = 0) =>
    addSession(app, { appId, userId: alice.id, state, ageDays });

  describe('GET /v1/apps', () => {
    test('shows people every key of an item, newest first, and administrators nothing more', async () => {
      const hidden = await created({ name: 'Not mine', entitle: 'none' });
      const disabled = await created({ name: 'Disabled', enabled: false });
      await app.clock.pass(1_000);
      const newest = await created({ name: 'Newest' });
      for (const person of [alice, admin]) {
        const { status, body } = await app.call(person, 'GET', '/v1/apps?limit=1000');
        expect(status).toBe(200);
        expect(body.items[0].id).toBe(newest.id);
        for (const item of body.items) expect(appListItem.strict().parse(item)).toEqual(item);
        const ids = body.items.map((item: { id: string }) => item.id);
        expect(ids).not.toContain(hidden.id);
        expect(ids).not.toContain(disabled.id);
        expect(body.next_cursor).toBeNull();
      }
    });

    test('pages without a gap or a repeat, also where apps are of one moment', async () => {
      for (let index = 0; index < 5; index += 1) await created({ name: `Page ${index}` });
      const all = await app.call(alice, 'GET', '/v1/apps?limit=1000');
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const { body }: Answer = await app.call(alice, 'GET', `/v1/apps?limit=2${query}`);
        seen.push(...body.items.map((item: { id: string }) => item.id));
        cursor = body.next_cursor;
      }
      expect(seen).toEqual(all.body.items.map((item: { id: string }) => item.id));
      expect(seen.length).toBeGreaterThan(4);
    });

    test.each(['abc', '-1', '1.5', '99999999999', '1e3', 'x'.repeat(2_000)])(
      'cursor %s: 400',
      async (cursor) => {
        refused(await app.call(alice, 'GET', `/v1/apps?cursor=${cursor}`), 400, 'validation_failed');
      },
    );

    test.each(['0', '-5', 'many', '', '1001', '99999999999999999999'])(
      'limit %s falls back or is cut, never refused',
      async (limit) => expect((await app.call(alice, 'GET', `/v1/apps?limit=${limit}`)).status).toBe(200),
    );

    test('marks favourites, each person their own', async () => {
      const record = await created({ name: 'Loved' });
      const { database } = app.plane.platform;
      await database.db
        .insertInto('favourites')
        .values({ user_id: alice.id, app_id: record.id, created_at: 1 })
        .execute();
      const mine = await app.call(alice, 'GET', `/v1/apps/${record.id}`);
      expect(mine.body.app.favourite).toBe(true);
      expect((await app.call(admin, 'GET', `/v1/apps/${record.id}`)).body.app.favourite).toBe(false);
    });
  });

  describe('GET /v1/apps/{id}', () => {
    test('absent, disabled and not entitled are one 404 to people; administrators read all', async () => {
      const hidden = await created({ name: 'Hidden', entitle: 'none' });
      const disabled = await created({ name: 'Off', enabled: false });
      const ids = [hidden.id, disabled.id, UNKNOWN_ID];
      const answers = await Promise.all(ids.map((id) => app.call(alice, 'GET', `/v1/apps/${id}`)));
      // The message repeats the id that was asked for.
      const shown = answers.map(({ status, text }, n) => `${status}${text.replaceAll(ids[n] ?? '', 'ID')}`);
      expect(new Set(shown).size).toBe(1);
      refused(answers[0] as Answer, 404, 'not_found');
      expect((await app.call(admin, 'GET', `/v1/apps/${disabled.id}`)).body.app).toEqual(disabled);
      refused(await app.call(admin, 'GET', `/v1/apps/${UNKNOWN_ID}`), 404, 'not_found');
      refused(await app.call(alice, 'GET', '/v1/apps/1'), 400, 'validation_failed');
    });
  });

  describe('GET /v1/admin/apps', () => {
    const search = async (q: string) => {
      const { status, body } = await app.call(
        admin,
        'GET',
        `/v1/admin/apps?limit=1000&q=${encodeURIComponent(q)}`,
      );
      expect(status).toBe(200);
      return body.items.map((item: AdminApp) => item.name);
    };

    test('finds a part of a name in any case and takes % and _ literally', async () => {
      await created({ name: 'Äpfel 100%_\\ sure' });
      for (const q of ['äPFEL', '100%', '%_', '\\ s', 'SURE'])
        expect(await search(q)).toEqual(['Äpfel 100%_\\ sure']);
      expect(await search('100_')).toEqual([]);
      expect(await search('')).not.toEqual([]);
    });

    test('q over 100 characters: 400', async () =>
      refused(await app.call(admin, 'GET', `/v1/admin/apps?q=${'q'.repeat(101)}`), 400, 'validation_failed'));

    test('counts the sessions of the last thirty days', async () => {
      const record = await created({ name: 'Counted' });
      await session(record.id, 'stopped');
      await session(record.id, 'stopped', 29);
      await session(record.id, 'stopped', 31);
      expect((await app.call(admin, 'GET', `/v1/apps/${record.id}`)).body.app.sessions_30d).toBe(2);
    });
  });
});
