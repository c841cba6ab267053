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

/** Creates an object that only its owner may use. @returns the ids in its path */
type Make = (app: TestApp, owner: Person) => Promise<string[]>;

const makeApp = async (app: TestApp, owner: Person): Promise<string> => {
  const { admin } = app.people;
  const body = { name: `Of ${owner.username} alone`, entitle: 'none' };
  const { id } = (await app.call(admin, 'POST', '/v1/apps', { body })).body.app;
  const grant = { subject_type: 'user', subject_id: owner.id };
  await app.call(admin, 'POST', `/v1/admin/apps/${id}/entitlements`, { body: grant });
  return id;
};

const makeSession = async (app: TestApp, owner: Person): Promise<string> =>
  addSession(app, { appId: await makeApp(app, owner), userId: owner.id, state: 'pending' });

const makeGuest: Make = async (app, owner) => {
  const { database, random, clock } = app.plane.platform;
  const id = random.uuid();
  const session_id = await makeSession(app, owner);
  await database.db
    .insertInto('session_guests')
    .values({
      ...{ id, session_id, slot: 1, role: 'watch', pad_index: null, secret_hash: id, name: null },
      ...{
        created_at: clock.nowMs(),
        expires_at: clock.nowMs() + 60_000,
        ended_at: null,
        end_acked_at: null,
      },
    })
    .execute();
  return [session_id, id];
};

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
  return [id];
};

const makeFavourite: Make = async (app, owner) => {
  const app_id = await makeApp(app, owner);
  await app.plane.platform.database.db
    .insertInto('favourites')
    .values({ user_id: owner.id, app_id, created_at: app.clock.nowMs() })
    .execute();
  return [app_id];
};

/** Creates the object for each path; a path that is missing here is not covered. */
const OWNED: readonly { path: string; make: Make; ownAnswer?: true }[] = [
  { path: '/v1/apps/{id}', make: async (app, owner) => [await makeApp(app, owner)] },
  { path: '/v1/sessions/{id}/guests/{guest_id}', make: makeGuest },
  { path: '/v1/sessions/{id}', make: async (app, owner) => [await makeSession(app, owner)] },
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

const urlOf = (operation: Operation, ids: readonly string[]): string =>
  ids.reduce((path, id) => path.replace(/\{\w+\}/, id), operation.path);
const callOf = (app: TestApp, as: Person, operation: Operation, ids: readonly string[]): Promise<Answer> =>
  app.call(as, operation.method, urlOf(operation, ids), { body: operation.example?.body ?? {} });

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
      const ids = await owned.make(app, owner);

      const before = await stored();
      const answer = await callOf(app, other, operation, ids);
      expect(await stored()).toBe(before);
      if (owned.ownAnswer) return;
      expect([403, 404]).toContain(answer.status);
      const nowhere = await callOf(
        app,
        other,
        operation,
        ids.map(() => UNKNOWN_ID),
      );
      // An answer may repeat the id that was asked for.
      const text = ids.reduce((told, id) => told.replaceAll(id, UNKNOWN_ID), answer.text);
      expect([answer.status, text]).toEqual([nowhere.status, nowhere.text]);
      // The owner must be admitted, otherwise the refusal proves nothing. Event streams are skipped, because they do
      // not end.
      if (operation.contentType === undefined)
        expect([403, 404]).not.toContain((await callOf(app, owner, operation, ids)).status);
    });

    test('no list of the other names it', async () => {
      const [owner, other] = [app.people[ownerName], app.people[otherName]];
      const ids = (await Promise.all(OWNED.map(({ make }) => make(app, owner)))).flat();
      for (const operation of lists) {
        const answer = await app.call(other, 'GET', operation.path);
        expect(answer.status, `${operation.id} ${answer.text}`).toBe(200);
        for (const id of ids) expect(answer.text, operation.id).not.toContain(id);
      }
    });
  });
});
