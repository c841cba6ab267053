import { type Operation, operations } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Answer,
  addSession,
  createTestApp,
  describeDatabases,
  dumpDatabase,
  PATIENTLY,
  type Person,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';

/** Creates an object that only its owner may use. @returns its id */
type Make = (app: TestApp, owner: Person) => Promise<string>;

const makeApp: Make = async (app, owner) => {
  const { admin } = app.people;
  const body = { name: `Of ${owner.username} alone`, entitle: 'none' };
  const { id } = (await app.call(admin, 'POST', '/v1/apps', { body })).body.app;
  const grant = { subject_type: 'user', subject_id: owner.id };
  await app.call(admin, 'POST', `/v1/admin/apps/${id}/entitlements`, { body: grant });
  return id;
};

const makeSession: Make = async (app, owner) =>
  addSession(app, { appId: await makeApp(app, owner), userId: owner.id, state: 'pending' });

const makeDevice: Make = async (app, owner) => {
  const { database, random, clock } = app.plane.platform;
  const id = random.uuid();
  await database.db
    .insertInto('devices')
    .values({
      id,
      user_id: owner.id,
      device_key: id,
      trusted: 0,
      capabilities: '{}',
      first_seen_at: clock.nowMs(),
      last_seen_at: clock.nowMs(),
    })
    .execute();
  return id;
};

const makeFavourite: Make = async (app, owner) => {
  const app_id = await makeApp(app, owner);
  await app.plane.platform.database.db
    .insertInto('favourites')
    .values({ user_id: owner.id, app_id, created_at: app.clock.nowMs() })
    .execute();
  return app_id;
};

/** Creates the object for each path; a path that is missing here is not covered. */
const OWNED: readonly { path: string; make: Make; ownAnswer?: true }[] = [
  { path: '/v1/apps/{id}', make: makeApp },
  { path: '/v1/sessions/{id}', make: makeSession },
  { path: '/v1/me/devices/{id}', make: makeDevice },
  // The path names a row of the caller; the answer depends only on the app, not on its grants.
  { path: '/v1/me/favourites/{app_id}', make: makeFavourite, ownAnswer: true },
];
const ownedBy = (operation: Operation) =>
  OWNED.find(({ path }) => operation.path === path || operation.path.startsWith(`${path}/`));

const ofPeople = (Object.values(operations) as Operation[]).filter(({ auth }) => auth === 'user');
const withId = ofPeople
  .filter(({ path }) => path.includes('{'))
  .map((operation) => [operation.id, operation] as const);
const lists = ofPeople.filter(({ method, path }) => method === 'GET' && !path.includes('{'));

const urlOf = (operation: Operation, id: string): string => operation.path.replace(/\{\w+\}/, id);
const callOf = (app: TestApp, as: Person, operation: Operation, id: string): Promise<Answer> =>
  app.call(as, operation.method, urlOf(operation, id), { body: operation.example?.body ?? {} });

describeDatabases('what belongs to one person', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    // Wait: the first request with a token stores its use soon after the answer.
    for (const person of Object.values(app.people)) await app.call(person, 'GET', '/v1/me');
    await vi.waitFor(async () => expect(await stored()).not.toContain('"last_used_at":null'), PATIENTLY);
  });
  afterAll(() => app.close());

  const stored = () => dumpDatabase(app.plane.platform.database);

  describe.each([
    ['alice', 'bob'],
    ['bob', 'alice'],
  ] as const)('%s has it, %s asks', (ownerName, otherName) => {
    test.each(withId)('%s: refused as if it were nowhere, and nothing changes', async (_, operation) => {
      const owned = ownedBy(operation);
      if (owned === undefined) throw new Error(`nothing here makes what ${operation.path} names`);
      const [owner, other] = [app.people[ownerName], app.people[otherName]];
      const id = await owned.make(app, owner);

      const before = await stored();
      const answer = await callOf(app, other, operation, id);
      expect(await stored()).toBe(before);
      if (owned.ownAnswer) return;
      expect([403, 404]).toContain(answer.status);
      const nowhere = await callOf(app, other, operation, UNKNOWN_ID);
      // An answer may repeat the id that was asked for.
      expect([answer.status, answer.text.replaceAll(id, UNKNOWN_ID)]).toEqual([nowhere.status, nowhere.text]);
      // The owner must be admitted, otherwise the refusal proves nothing. Event streams are skipped, because they do
      // not end.
      if (operation.contentType === undefined)
        expect([403, 404]).not.toContain((await callOf(app, owner, operation, id)).status);
    });

    test('no list of the other names it', async () => {
      const [owner, other] = [app.people[ownerName], app.people[otherName]];
      const ids = await Promise.all(OWNED.map(({ make }) => make(app, owner)));
      for (const operation of lists) {
        const answer = await app.call(other, 'GET', operation.path);
        expect(answer.status, `${operation.id} ${answer.text}`).toBe(200);
        for (const id of ids) expect(answer.text, operation.id).not.toContain(id);
      }
    });
  });
});
