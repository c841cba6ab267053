import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';

describeDatabases('GET /v1/admin/deletions/{id}', ({ fresh }) => {
  let app: TestApp;
  let gameId: string;
  let tileId: string;
  let hostId: string;

  const NONE = {
    ...{ sessions: 0, homes: 0, home_bytes: 0, entitlements: 0 },
    ...{ favourites: 0, tiles: 0, devices: 0, invites: 0, people: 0, running: 0 },
  };
  const ask = (id: string) => app.call(app.people.admin, 'GET', `/v1/admin/deletions/${id}`);
  const must = async (as: Parameters<TestApp['call']>[0], method: string, path: string, body?: object) => {
    const answer = await app.call(as, method, path, body === undefined ? {} : { body });
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };

  beforeAll(async () => {
    app = await createTestApp(await fresh());
    const { admin, alice } = app.people;
    const { db } = app.plane.platform.database;
    const make = async (body: object) => (await must(admin, 'POST', '/v1/apps', body)).app.id as string;
    gameId = await make({ name: 'Game', entitle: 'all' });
    tileId = await make({
      name: 'Tile',
      entitle: 'none',
      parent_app_id: gameId,
      external_source: 'steam',
      external_id: '440',
    });
    const other = await make({ name: 'Other' });
    hostId = await addHost(app, 'den');
    for (const id of [gameId, tileId]) {
      const body = { subject_type: 'user', subject_id: alice.id };
      await must(admin, 'POST', `/v1/admin/apps/${id}/entitlements`, body);
      await must(alice, 'PUT', `/v1/me/favourites/${id}`);
      await addSession(app, { userId: alice.id, appId: id, hostId, state: 'stopped' });
    }
    await must(alice, 'POST', '/v1/me/devices', { device_key: 'phone' });
    await must(admin, 'POST', '/v1/admin/invites', { max_uses: 1 });
    const home = (app_id: string, bytes_used: number, gc_after: number | null = null) => ({
      ...{ id: crypto.randomUUID(), user_id: alice.id, app_id, host_id: hostId },
      ...{ provider: 'local' as const, ref: `/homes/${bytes_used}`, bytes_used, gc_after },
      ...{ created_at: 1, last_used_at: 1 },
    });
    // Homes that are already marked for deletion are not counted.
    await db
      .insertInto('storage_homes')
      .values([home(gameId, 3_000_000_000), home(other, 4), home(tileId, 9, 1)])
      .execute();
  });
  afterAll(() => app.close());

  test('counts what is deleted with an app, its tiles included', async () => {
    const { status, body } = await ask(gameId);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...NONE,
      kind: 'app',
      ...{ sessions: 2, homes: 1, home_bytes: 3_000_000_000, entitlements: 3, favourites: 2, tiles: 1 },
    });
    expect((await ask(tileId)).body).toEqual({
      ...NONE,
      ...{ kind: 'app', sessions: 1, entitlements: 1, favourites: 1 },
    });
  });

  test('counts what is deleted with a host', async () => {
    const expected = { ...NONE, kind: 'host', sessions: 2, homes: 2, home_bytes: 3_000_000_004 };
    expect((await ask(hostId)).body).toEqual(expected);
  });

  test('counts what is deleted with an account', async () => {
    expect((await ask(app.people.alice.id)).body).toEqual({
      ...NONE,
      kind: 'user',
      ...{ sessions: 2, homes: 2, home_bytes: 3_000_000_004, entitlements: 2, favourites: 2, devices: 1 },
    });
    expect((await ask(app.people.admin.id)).body).toMatchObject({ invites: 1, sessions: 0 });
  });

  test('counts who loses an app with a grant, and which of their sessions go on', async () => {
    const { admin, alice } = app.people;
    const path = `/v1/admin/apps/${gameId}/entitlements`;
    const { items } = await must(admin, 'GET', path);
    const grantOf = (subject: string | null) =>
      items.find((each: { subject_id: string | null }) => each.subject_id === subject).id;
    await addSession(app, { userId: app.people.admin.id, appId: gameId, hostId, state: 'running' });
    // Either of the two grants is enough for Alice to keep the app.
    expect((await ask(grantOf(alice.id))).body).toEqual({ ...NONE, kind: 'entitlement' });
    const { items: users } = await must(admin, 'GET', '/v1/users');
    expect((await ask(grantOf(null))).body).toEqual({
      ...{ ...NONE, kind: 'entitlement' },
      ...{ people: users.length - 1, running: 1 },
    });
    await must(admin, 'DELETE', `${path}/${grantOf(null)}`);
    await addSession(app, { userId: alice.id, appId: gameId, hostId, state: 'running' });
    expect((await ask(grantOf(alice.id))).body).toMatchObject({ people: 1, running: 1 });
  });

  test('does not know another id', async () => {
    refused(await ask(UNKNOWN_ID), 404, 'not_found');
  });
});
