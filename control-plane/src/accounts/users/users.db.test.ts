import { randomUUID } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '@footlight/platform';
import { adminUser, entitlement } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { recordCatalogChange } from '../../catalog/index.ts';
import {
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  dumpDatabase,
  loggedActivity,
  PATIENTLY,
  type Person,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

describeDatabases('users', ({ dialect, fresh }) => {
  let app: TestApp;
  let admin: Person;
  let hostId: string;
  beforeAll(async () => {
    app = await createTestApp(await fresh());
    admin = app.people.admin;
    hostId = await addHost(app, 'hosta');
  });
  afterAll(() => app.close());

  const db = () => app.plane.platform.database.db;
  const list = (query = '') => app.call(admin, 'GET', `/v1/users${query}`);
  const names = async (query: string): Promise<string[]> =>
    (await list(query)).body.items.map((item: { username: string }) => item.username);
  const patch = (id: string, body: unknown, as = admin) => app.call(as, 'PATCH', `/v1/users/${id}`, { body });
  const remove = (id: string, as = admin) => app.call(as, 'DELETE', `/v1/users/${id}`);
  const setUser = (id: string, columns: object) =>
    db().updateTable('users').set(columns).where('id', '=', id).execute();
  const only = async (username: string) =>
    (await list(`?q=${encodeURIComponent(username)}`)).body.items.find(
      (item: { username: string }) => item.username === username,
    );

  async function addApp(name: string): Promise<string> {
    const answer = await app.call(admin, 'POST', '/v1/apps', { body: { name, entitle: 'none' } });
    expect(answer.status, answer.text).toBe(201);
    return answer.body.app.id;
  }

  async function addDevice(userId: string, lastSeenAt: number): Promise<string> {
    const id = randomUUID();
    const times = { first_seen_at: 1, last_seen_at: lastSeenAt };
    await db()
      .insertInto('devices')
      .values({ id, user_id: userId, device_key: id, trusted: 0, capabilities: '{}', ...times })
      .execute();
    return id;
  }

  async function audits(targetId: string): Promise<[string, unknown][]> {
    const rows = await loggedActivity(app, { target_type: 'user', target_id: targetId });
    for (const row of rows) expect(row.actor_user_id).toBe(admin.id);
    return rows.map(({ action, details }) => [action, details]);
  }

  /**
   * An internal account, like the one of encoder certification: nobody can sign in to it, and administrators do not see
   * it.
   */
  async function addInternal(): Promise<string> {
    const { id } = await app.addPerson(`internal-${randomUUID()}`);
    await setUser(id, { internal: 1 });
    return id;
  }

  describe('the list', () => {
    test('shows each account with the last use of its devices and its live sessions', async () => {
      const carol = await app.addPerson('carol');
      expect(await only('carol')).toEqual({
        id: carol.id,
        email: 'carol@example.test',
        username: 'carol',
        role: 'user',
        disabled: false,
        max_concurrent_sessions: 3,
        created_at: new Date(app.clock.nowMs()).toISOString(),
        last_seen_at: null,
        // Accounts of tests sign in with their tokens.
        sign_in_methods: [],
        active_session_count: 0,
      });
      const seen = app.clock.nowMs() - DAY_MS;
      await addDevice(carol.id, seen - HOUR_MS);
      await addDevice(carol.id, seen);
      const appId = await addApp('Counted');
      const states = ['pending', 'assigned', 'starting', 'running', 'stopping', 'stopped', 'failed'] as const;
      for (const state of states) await addSession(app, { appId, userId: carol.id, state, hostId });
      expect(await only('carol')).toMatchObject({
        last_seen_at: new Date(seen).toISOString(),
        active_session_count: 5,
      });
      for (const item of (await list()).body.items) expect(adminUser.strict().parse(item)).toEqual(item);
    });

    test('comes newest first in pages that miss and repeat no account', async () => {
      for (let i = 0; i < 6; i += 1) {
        // Two accounts have the same creation time.
        if (i % 2 === 0) await app.clock.pass(1);
        await app.addPerson(`paged-${i}`);
      }
      const all = (await list('?limit=1000')).body.items.map((item: { id: string }) => item.id);
      const walked: string[] = [];
      let cursor: string | null = '';
      for (let pages = 0; cursor !== null && pages < 50; pages += 1) {
        const answer = await list(`?limit=2${cursor && `&cursor=${cursor}`}`);
        walked.push(...answer.body.items.map((item: { id: string }) => item.id));
        cursor = answer.body.next_cursor;
      }
      expect(walked).toEqual(all);
      expect(new Set(walked).size).toBe(walked.length);
      const created = (await list('?limit=1000')).body.items;
      const keys = created.map((item: { created_at: string; id: string }) => `${item.created_at} ${item.id}`);
      expect(keys).toEqual([...keys].sort().reverse());
    });

    test.each(['nonsense', '%00', 'x'.repeat(3_000), 'a&cursor=b', ''])(
      'starts at the first page with a cursor that cannot be read: %j',
      async (cursor) => {
        const [first, answer] = [await list('?limit=2'), await list(`?limit=2&cursor=${cursor}`)];
        expect([answer.status, answer.body]).toEqual([200, first.body]);
      },
    );

    test('finds part of an email or a username in any case, and takes %, _ and \\ as they are', async () => {
      for (const name of ['Frédérique', 'ÅNGSTRÖM', 'per%cent', 'under_score', 'back\\slash'])
        await app.addPerson(name);
      expect(await names(`?q=${encodeURIComponent('FRÉDÉ')}`)).toEqual(['Frédérique']);
      expect(await names(`?q=${encodeURIComponent('ström')}`)).toEqual(['ÅNGSTRÖM']);
      expect(await names('?q=%25')).toEqual(['per%cent']);
      expect(await names('?q=r_s')).toEqual(['under_score']);
      expect(await names('?q=%5C')).toEqual(['back\\slash']);
      expect(await names('?q=ALICE%40EXAMPLE')).toEqual(['alice']);
      expect(await names('?q=no-such-name')).toEqual([]);
      expect((await list('?q=%20')).body).toEqual((await list()).body);
      expect((await list(`?q=${'x'.repeat(100)}`)).status).toBe(200);
      expect((await list(`?q=${'x'.repeat(101)}`)).body.error.code).toBe('validation_failed');
    });

    test('lists identities that expire, and no internal account', async () => {
      const [passing, internal] = [await app.addPerson('passing'), await addInternal()];
      await setUser(passing.id, { ephemeral_expires_at: app.clock.nowMs() + HOUR_MS });
      const ids = (await list('?limit=1000')).body.items.map((item: { id: string }) => item.id);
      expect(ids).toContain(passing.id);
      expect(ids).not.toContain(internal);
    });
  });

  describe('a change', () => {
    test('takes role, disabled and quota at once, returns the account and adds an activity entry for each', async () => {
      const dora = await app.addPerson('dora');
      const body = { role: 'admin', disabled: true, max_concurrent_sessions: 0 };
      const answer = await patch(dora.id, body);
      expect([answer.status, answer.body.user]).toEqual([200, { ...(await only('dora')), ...body }]);
      expect(await audits(dora.id)).toEqual([
        ['user.role_changed', { role: 'admin' }],
        ['user.disabled', {}],
        ['user.quota_changed', { max_concurrent_sessions: 0 }],
      ]);
      await patch(dora.id, { disabled: false });
      expect((await audits(dora.id)).at(-1)).toEqual(['user.enabled', {}]);
    });

    test('with nothing in it is the unchanged account, null counts as absent, unknown keys are nothing', async () => {
      const before = await only('bob');
      for (const body of [
        {},
        { role: null, disabled: null, max_concurrent_sessions: null },
        { email: 'x@example.org', username: 'x', password: 'correct horse battery', id: UNKNOWN_ID },
        '{"__proto__":{"role":"admin"},"constructor":1}',
      ]) {
        const answer = await patch(app.people.bob.id, body);
        expect([answer.status, answer.body.user]).toEqual([200, before]);
      }
      expect(await audits(app.people.bob.id)).toEqual([]);
    });

    test.each([
      { role: 'owner' },
      { role: 1 },
      { disabled: 'true' },
      { max_concurrent_sessions: -1 },
      { max_concurrent_sessions: 2_147_483_648 },
      { max_concurrent_sessions: 1.5 },
      { max_concurrent_sessions: '3' },
      { max_concurrent_sessions: 1, role: 'owner' },
    ])('refuses %j before it looks for the account, and changes nothing', async (body) => {
      const before = await only('bob');
      expect((await patch(app.people.bob.id, body)).body.error.code).toBe('validation_failed');
      expect((await patch(UNKNOWN_ID, body)).body.error.code).toBe('validation_failed');
      expect(await only('bob')).toEqual(before);
    });

    test('takes the whole range of a quota', async () => {
      const erin = await app.addPerson('erin');
      for (const max_concurrent_sessions of [0, 2_147_483_647])
        expect((await patch(erin.id, { max_concurrent_sessions })).body.user).toMatchObject({
          max_concurrent_sessions,
        });
    });

    test('of an unknown or internal account is 404', async () => {
      for (const id of [UNKNOWN_ID, await addInternal()])
        expect((await patch(id, { disabled: true })).body.error.code).toBe('not_found');
    });

    test('counts from the next request of a token that is there already', async () => {
      const frank = await app.addPerson('frank');
      const asks = (url: string) => app.call(frank, 'GET', url);
      expect((await asks('/v1/users')).status).toBe(403);
      await patch(frank.id, { role: 'admin' });
      expect((await asks('/v1/users')).status).toBe(200);
      await patch(frank.id, { role: 'user' });
      expect((await asks('/v1/users')).status).toBe(403);
      await patch(frank.id, { disabled: true });
      expect((await asks('/v1/me')).body.error.code).toBe('unauthorized');
      await patch(frank.id, { disabled: false });
      expect((await asks('/v1/me')).status).toBe(200);
    });

    test('disabling again keeps the first time, and stops no session', async () => {
      const gina = await app.addPerson('gina');
      const appId = await addApp('Going on');
      await addSession(app, { appId, userId: gina.id, state: 'pending' });
      const disabledAt = async () =>
        (await db().selectFrom('users').selectAll().where('id', '=', gina.id).executeTakeFirstOrThrow())
          .disabled_at;
      await patch(gina.id, { disabled: true });
      const first = await disabledAt();
      expect(first).toBe(app.clock.nowMs());
      await app.clock.pass(1_000);
      await patch(gina.id, { disabled: true });
      expect(await disabledAt()).toBe(first);
      expect(await only('gina')).toMatchObject({ disabled: true, active_session_count: 1 });
    });
  });

  describe('a deletion', () => {
    test('refuses the own account before anything is looked up, even for the only administrator', async () => {
      const answer = await remove(admin.id);
      expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict']);
      expect(answer.text).toContain('own account');
      expect((await remove(admin.id.toUpperCase())).status).toBe(409);
    });

    test('of an unknown or internal account is 404, and so is a repeat', async () => {
      for (const id of [UNKNOWN_ID, await addInternal()])
        expect((await remove(id)).body.error.code).toBe('not_found');
      const once = await app.addPerson('once');
      expect((await remove(once.id)).status).toBe(204);
      expect((await remove(once.id)).status).toBe(404);
    });

    test.each(['pending', 'stopping'] as const)(
      'is refused while a session is %s, and changes nothing',
      async (state) => {
        const holder = await app.addPerson(`holder-${state}`);
        const appId = await addApp(`Held ${state}`);
        await addSession(app, { appId, userId: holder.id, state, hostId });
        const before = await dumpDatabase(app.plane.platform.database);
        expect((await remove(holder.id)).body.error).toMatchObject({
          code: 'conflict',
          message: expect.stringContaining('sessions'),
        });
        expect(await dumpDatabase(app.plane.platform.database)).toBe(before);
      },
    );

    test('deletes everything of the account, marks its homes, and keeps what it granted to others', async () => {
      const leaver = await app.addPerson('leaver', 'admin');
      const [mine, given] = [await addApp('Mine'), await addApp('Given')];
      const grant = (as: Person, appId: string, subject: string) =>
        app.call(as, 'POST', `/v1/admin/apps/${appId}/entitlements`, {
          body: { subject_type: 'user', subject_id: subject },
        });
      expect((await grant(admin, mine, leaver.id)).status).toBe(201);
      const gift = (await grant(leaver, given, app.people.bob.id)).body.entitlement.id as string;
      expect((await app.call(leaver, 'POST', '/v1/admin/invites')).status).toBe(201);
      const deviceId = await addDevice(leaver.id, 5);
      await db()
        .updateTable('auth_tokens')
        .set({ device_id: deviceId })
        .where('user_id', '=', leaver.id)
        .execute();
      await db()
        .insertInto('favourites')
        .values({ user_id: leaver.id, app_id: mine, created_at: 1 })
        .execute();
      await db()
        .insertInto('user_preferences')
        .values({ user_id: leaver.id, ui_preferences: '{}' })
        .execute();
      await addSession(app, { appId: mine, userId: leaver.id, state: 'stopped' });
      const home = {
        id: randomUUID(),
        user_id: leaver.id,
        app_id: mine,
        host_id: hostId,
        provider: 'local' as const,
        ref: '/homes/leaver/mine',
        bytes_used: 9,
        created_at: 1,
        last_used_at: 2,
        gc_after: null,
      };
      await db().insertInto('storage_homes').values(home).execute();

      const answer = await remove(leaver.id);
      expect([answer.status, answer.text]).toEqual([204, '']);
      const left = (await dumpDatabase(app.plane.platform.database))
        .split('\n')
        .filter((line) => line.includes(leaver.id) || line.includes(deviceId));
      // Only the activity log still mentions the account.
      expect(left.filter((line) => !line.startsWith('activity '))).toEqual([]);
      expect(left.length).toBeGreaterThan(0);
      expect((await audits(leaver.id)).at(-1)).toEqual(['user.deleted', { username: 'leaver' }]);
      const homes = await db().selectFrom('storage_homes').selectAll().where('id', '=', home.id).execute();
      expect(homes).toEqual([{ ...home, user_id: null, gc_after: app.clock.nowMs() }]);
      const gifts = await db().selectFrom('entitlements').selectAll().where('id', '=', gift).execute();
      expect(gifts).toMatchObject([{ subject_id: app.people.bob.id, granted_by_user: null }]);
      expect((await app.call(leaver, 'GET', '/v1/me')).body.error.code).toBe('unauthorized');
    });

    test('answers every concurrent request of its account, and leaves none of its rows behind', async () => {
      const appId = await addApp('Wanted');
      for (let round = 0; round < 5; round += 1) {
        const leaver = await app.addPerson(`busy-${round}`, 'admin');
        const as = (method: string, url: string, body?: unknown) => app.call(leaver, method, url, { body });
        const answers = await Promise.all([
          as('POST', '/v1/admin/invites'),
          as('PATCH', `/v1/users/${leaver.id}`, { max_concurrent_sessions: round }),
          remove(leaver.id),
          as('POST', '/v1/admin/invites'),
          app.call(admin, 'POST', `/v1/admin/apps/${appId}/entitlements`, {
            body: { subject_type: 'user', subject_id: leaver.id },
          }),
          as('GET', '/v1/users'),
          as('POST', '/v1/auth/logout'),
        ]);
        // 503 requests a retry; the retry then gets the answer that the account does not exist.
        for (const { status } of answers) expect(status === 503 || status < 500).toBe(true);
        expect(answers[2]?.status).toBe(204);
        const left = (await dumpDatabase(app.plane.platform.database))
          .split('\n')
          .filter((line) => line.includes(leaver.id) && !line.startsWith('activity '));
        expect(left).toEqual([]);
      }
    });

    // SQLite runs one transaction at a time.
    test.runIf(dialect === 'postgres')(
      'waits for a favourite that is about to commit, and the favourite not for the deletion',
      async () => {
        const person = await app.addPerson('starred');
        const appId = await addApp('Starred');
        const { database } = app.plane.platform;
        let commit = () => {};
        const committing = new Promise<void>((resolve) => {
          commit = resolve;
        });
        let marking = Promise.resolve();
        await new Promise<void>((inserted) => {
          marking = database.transaction(async (tx) => {
            await tx
              .insertInto('favourites')
              .values({ user_id: person.id, app_id: appId, created_at: 1 })
              .execute();
            inserted();
            await committing;
            await recordCatalogChange(tx, { userId: person.id });
          });
        });
        const deleting = remove(person.id);
        await vi.waitUntil(async () => {
          const waiting = sql<{ count: number }>`select count(*) as count from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`;
          return (await waiting.execute(database.db)).rows[0]?.count === 1;
        }, PATIENTLY);
        commit();
        await marking;
        expect((await deleting).status).toBe(204);
      },
    );
  });

  describe('the entitlements of one account', () => {
    test('are its own rows only, by app name', async () => {
      const holder = await app.addPerson('holder');
      for (const name of ['Zebra', 'Aardvark', 'For everybody']) {
        const appId = await addApp(name);
        const everybody = name === 'For everybody';
        const body = everybody ? { subject_type: 'all' } : { subject_type: 'user', subject_id: holder.id };
        await app.call(admin, 'POST', `/v1/admin/apps/${appId}/entitlements`, { body });
      }
      const answer = await app.call(admin, 'GET', `/v1/admin/users/${holder.id}/entitlements`);
      expect(answer.status).toBe(200);
      expect(answer.body.items.map((item: { app_name: string }) => item.app_name)).toEqual([
        'Aardvark',
        'Zebra',
      ]);
      for (const item of answer.body.items) expect(entitlement.strict().parse(item)).toEqual(item);
      const none = await app.call(admin, 'GET', `/v1/admin/users/${admin.id}/entitlements`);
      expect(none.body).toEqual({ items: [] });
    });

    test('of an unknown or internal account are 404', async () => {
      for (const id of [UNKNOWN_ID, await addInternal()]) {
        const answer = await app.call(admin, 'GET', `/v1/admin/users/${id}/entitlements`);
        expect(answer.body.error.code).toBe('not_found');
      }
    });
  });
});
