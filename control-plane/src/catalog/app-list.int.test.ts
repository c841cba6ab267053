import type { AppListItem } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../platform/database/index.ts';
import { createTestApp, describeDatabases, type Person, type TestApp } from '../testing/index.ts';
import { type AppList, createAppList } from './app-list.ts';
import { MAX_CHANGES, recordCatalogChange } from './changes.ts';

describeDatabases('app lists that are kept', ({ fresh }) => {
  let app: TestApp;
  let database: Database;
  let alice: Person;
  let bob: Person;
  let list: AppList;
  let older: string;
  let newer: string;

  beforeAll(async () => {
    app = await createTestApp(await fresh());
    ({ database } = app.plane.platform);
    ({ alice, bob } = app.people);
    older = await create('Older');
    await app.clock.pass(1_000);
    newer = await create('Newer');
  });
  afterAll(() => app.close());
  // Simulates another process: it shares nothing and reads everything from the database.
  beforeEach(() => {
    list = createAppList(database, { loadDisplayStreams: async () => () => null });
  });

  async function create(name: string, body: object = {}): Promise<string> {
    const answer = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name, ...body } });
    expect(answer.status, answer.text).toBe(201);
    return answer.body.app.id;
  }
  const change = (id: string, body: object) =>
    app.call(app.people.admin, 'PATCH', `/v1/apps/${id}`, { body });
  async function names(person: Person, from = list): Promise<string[]> {
    const { plain } = await from.body(person.id, { limit: 50 });
    return JSON.parse(plain.toString()).items.map(
      ({ name, favourite }: AppListItem) => `${favourite ? '*' : ''}${name}`,
    );
  }
  const note = (times: number) =>
    database.transaction(async (tx) => {
      for (let n = 0; n < times; n += 1) await recordCatalogChange(tx, { userId: alice.id });
    });

  test('are the same bytes until something changes', async () => {
    const first = await list.body(alice.id, { limit: 50 });
    expect(await list.body(alice.id, { limit: 50 })).toBe(first);
    await change(newer, { name: 'Newest' });
    expect(await names(alice)).toEqual(['Newest', 'Older']);
    await change(newer, { name: 'Newer' });
    expect(await names(alice)).toEqual(['Newer', 'Older']);
  });

  test("a favourite of one person leaves everybody else's unchanged", async () => {
    const [hers, his] = await Promise.all([names(alice), list.body(bob.id, { limit: 50 })]);
    await app.call(alice, 'PUT', `/v1/me/favourites/${older}`);
    expect(await names(alice)).toEqual(hers.map((name) => (name === 'Older' ? '*Older' : name)));
    expect(await list.body(bob.id, { limit: 50 })).toBe(his);
    await app.call(alice, 'DELETE', `/v1/me/favourites/${older}`);
    expect(await names(alice)).toEqual(hers);
  });

  test('an app returns to its place, newest first, whatever had hidden it', async () => {
    expect(await names(bob)).toEqual(['Newer', 'Older']);
    await change(newer, { enabled: false });
    expect(await names(bob)).toEqual(['Older']);
    await change(newer, { enabled: true });
    expect(await names(bob)).toEqual(['Newer', 'Older']);
  });

  test('concurrent requests after a change all see it', async () => {
    const people = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? alice : bob));
    await Promise.all(people.map((person) => names(person)));
    await change(older, { name: 'Changed' });
    for (const seen of await Promise.all(people.map((person) => names(person)))) {
      expect(seen).toEqual(['Newer', 'Changed']);
    }
    await change(older, { name: 'Older' });
  });

  test('of a catalog that is too large to cache are the same', async () => {
    const small = createAppList(database, { loadDisplayStreams: async () => () => null }, 1);
    expect(await names(alice, small)).toEqual(['Newer', 'Older']);
    await app.call(alice, 'PUT', `/v1/me/favourites/${newer}`);
    expect(await names(alice, small)).toEqual(['*Newer', 'Older']);
    await app.call(alice, 'DELETE', `/v1/me/favourites/${newer}`);
    await change(newer, { enabled: false });
    expect(await names(alice, small)).toEqual(['Older']);
    await change(newer, { enabled: true });
    expect(await names(alice, small)).toEqual(['Newer', 'Older']);
  });

  describe('notes of what changed', () => {
    test('end with the newest of them, however many come', async () => {
      await note(MAX_CHANGES + 200);
      const { count } = await database.db
        .selectFrom('catalog_changes')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      expect(count).toBeGreaterThanOrEqual(MAX_CHANGES);
      expect(count).toBeLessThan(MAX_CHANGES + 100);
    });

    test('that were missed cause a complete read', async () => {
      expect(await names(bob)).toEqual(['Newer', 'Older']);
      await change(newer, { name: 'Missed' });
      await note(MAX_CHANGES + 200);
      expect(await names(bob)).toEqual(['Missed', 'Older']);
      await change(newer, { name: 'Newer' });
    });
  });
});
