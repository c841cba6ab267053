import { randomBytes, randomUUID } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StorageHomesTable } from '../platform/database/tables/sessions.ts';
import { sha256Hex } from '../platform/digest.ts';
import {
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  loggedActivity,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';

interface TestHost {
  id: string;
  name: string;
  headers: Record<string, string>;
}

describeDatabases('homes', ({ fresh }) => {
  let app: TestApp;
  let [hostA, hostB]: TestHost[] = [];
  let game: string;
  let tile: string;

  const db = () => app.plane.platform.database.db;
  const now = () => app.clock.nowMs();

  async function host(name: string): Promise<TestHost> {
    const id = await addHost(app, name);
    const secret = randomBytes(32).toString('base64url');
    await db()
      .updateTable('hosts')
      .set({ secret_hash: sha256Hex(secret) })
      .where('id', '=', id)
      .execute();
    return { id, name, headers: { 'x-service-node': name, authorization: `Bearer ${secret}` } };
  }

  beforeAll(async () => {
    app = await createTestApp(await fresh());
    [hostA, hostB] = [await host('hosta'), await host('hostb')];
    const made = async (body: object) =>
      (await app.call(app.people.admin, 'POST', '/v1/apps', { body })).body.app.id as string;
    game = await made({ name: 'Game', managed_home: true });
    tile = await made({ name: 'Tile', parent_app_id: game, external_source: 'steam', external_id: '440' });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await db().deleteFrom('storage_homes').execute();
    await db().deleteFrom('sessions').execute();
  });

  async function home(fields: Partial<StorageHomesTable> = {}): Promise<string> {
    const id = randomUUID();
    await db()
      .insertInto('storage_homes')
      .values({
        id,
        user_id: null,
        app_id: null,
        host_id: hostA?.id ?? null,
        provider: 'local',
        ref: `/homes/${id}`,
        bytes_used: 0,
        created_at: now(),
        last_used_at: now(),
        gc_after: null,
        ...fields,
      })
      .execute();
    return id;
  }
  const stored = () => db().selectFrom('storage_homes').selectAll().orderBy('id').execute();
  const idsOf = async () => (await stored()).map(({ id }) => id);
  const list = (query = '', as = app.people.admin) => app.call(as, 'GET', `/v1/admin/storage/homes${query}`);
  const remove = (id: string, as = app.people.admin) =>
    app.call(as, 'DELETE', `/v1/admin/storage/homes/${id}`);
  const pending = async (of = hostA) =>
    (await app.call(null, 'GET', '/v1/agent/storage/gc-pending', { headers: of?.headers ?? {} })).body.homes;
  const confirm = async (ids: unknown, of = hostA) =>
    app.call(null, 'POST', '/v1/agent/storage/gc-confirm', {
      body: { home_ids: ids },
      headers: of?.headers ?? {},
    });
  const uses = async (appId: string, state: 'running' | 'stopping' | 'stopped', columns: object = {}) => {
    const id = await addSession(app, { appId, userId: app.people.alice.id, state, hostId: hostA?.id ?? '' });
    await db()
      .updateTable('sessions')
      .set({ home_app_id: game, ...columns })
      .where('id', '=', id)
      .execute();
    return id;
  };

  describe('the list of administrators', () => {
    test('names owner, app and host, with size and times', async () => {
      const { alice } = app.people;
      const id = await home({ user_id: alice.id, app_id: game, bytes_used: 5_000_000_000, gc_after: now() });
      const at = new Date(now()).toISOString();
      expect((await list()).body).toEqual({
        items: [
          {
            id,
            user_id: alice.id,
            username: 'alice',
            app_id: game,
            app_name: 'Game',
            host_id: hostA?.id,
            host_name: 'hosta',
            provider: 'local',
            ref: `/homes/${id}`,
            bytes_used: 5_000_000_000,
            created_at: at,
            last_used_at: at,
            gc_after: at,
          },
        ],
        next_cursor: null,
      });
    });

    test('shows null for what is deleted', async () => {
      await home({ host_id: null });
      expect((await list()).body.items).toMatchObject([
        {
          user_id: null,
          username: null,
          app_id: null,
          app_name: null,
          host_id: null,
          host_name: null,
          gc_after: null,
        },
      ]);
    });

    test('filters by owner, app and mark', async () => {
      const { alice, bob } = app.people;
      const [a, b, c] = [
        await home({ user_id: alice.id, app_id: game }),
        await home({ user_id: bob.id, app_id: game, gc_after: now() }),
        await home({ gc_after: now() }),
      ];
      const ids = async (query: string) =>
        (await list(query)).body.items.map((item: { id: string }) => item.id).sort();
      expect(await ids(`?user_id=${alice.id}`)).toEqual([a]);
      expect(await ids(`?app_id=${game}`)).toEqual([a, b].sort());
      expect(await ids('?pending_gc=true')).toEqual([b, c].sort());
      expect(await ids('?pending_gc=false')).toEqual([a]);
      expect(await ids(`?pending_gc=true&user_id=${bob.id}&app_id=${game}`)).toEqual([b]);
      expect(await ids('?no_such_key=1')).toHaveLength(3);
    });

    test('has pages of fifty, newest first', async () => {
      for (let age = 0; age < 51; age++) await home({ created_at: now() - age });
      const first = (await list()).body;
      const second = (await list(`?cursor=${first.next_cursor}`)).body;
      expect([first.items.length, second.items.length, second.next_cursor]).toEqual([50, 1, null]);
      const times = [...first.items, ...second.items].map((item) => Date.parse(item.created_at));
      expect(times).toEqual([...times].sort((a, b) => b - a));
      expect(new Set([...first.items, ...second.items].map((item) => item.id)).size).toBe(51);
    });

    test.each(['?pending_gc=1', '?pending_gc=', '?user_id=alice', '?app_id=x', '?cursor=x'])(
      '%s is 400',
      async (query) => {
        const answer = await list(query);
        expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
      },
    );

    test('is for administrators', async () => {
      expect((await list('', app.people.alice)).status).toBe(403);
      expect((await remove(await home(), app.people.alice)).status).toBe(403);
    });
  });

  describe('a home that an administrator deletes', () => {
    test('is marked, and the activity log says whose it was', async () => {
      const { admin, alice } = app.people;
      const id = await home({ user_id: alice.id, app_id: game });
      expect((await remove(id)).status).toBe(204);
      expect(await stored()).toMatchObject([{ id, gc_after: now() }]);
      expect(await loggedActivity(app, { action: 'storage.home.tombstone' })).toContainEqual(
        expect.objectContaining({
          actor_user_id: admin.id,
          target_id: id,
          details: { username: 'alice', app_name: 'Game' },
        }),
      );
    });

    test('a repeat is 204 and does not postpone the deletion', async () => {
      const marked = now();
      const id = await home();
      await remove(id);
      app.clock.advance(HOUR_MS);
      expect((await remove(id)).status).toBe(204);
      expect(await stored()).toMatchObject([{ gc_after: marked }]);
    });

    test('an unknown one is 404, a malformed id 400', async () => {
      expect((await remove(UNKNOWN_ID)).status).toBe(404);
      expect((await remove('x')).status).toBe(400);
    });

    test.each([
      ['its app', () => game, {}],
      ['a tile of its app', () => tile, {}],
      [
        'an app that is about to be swapped for it',
        () => tile,
        { home_app_id: null, swap_state: 'asked', swap_home_app_id: 'game' },
      ],
    ])('while a session of %s runs: 409 with the session', async (_what, appId, columns) => {
      const id = await home({ user_id: app.people.alice.id, app_id: game });
      const filled = 'swap_home_app_id' in columns ? { ...columns, swap_home_app_id: game } : columns;
      const session = await uses(appId(), 'running', filled);
      const answer = await remove(id);
      expect([answer.status, answer.body.error.code, answer.body.error.session_id]).toEqual([
        409,
        'home_in_use',
        session,
      ]);
      expect(await stored()).toMatchObject([{ gc_after: null }]);
    });

    test('a session on another host, of another person, or that is ending, does not use it', async () => {
      const id = await home({ user_id: app.people.alice.id, app_id: game, host_id: hostB?.id ?? null });
      await uses(game, 'running');
      const bobs = await home({ user_id: app.people.bob.id, app_id: game });
      const ending = await home({ user_id: app.people.alice.id, app_id: game });
      expect([(await remove(id)).status, (await remove(bobs)).status]).toEqual([204, 204]);
      await db().updateTable('sessions').set({ state: 'stopping' }).execute();
      expect((await remove(ending)).status).toBe(204);
    });
  });

  describe('the homes that a host must delete', () => {
    test('are those that were marked a day ago, on that host, oldest first', async () => {
      const [older, due] = [
        await home({ gc_after: now() - 2 * DAY_MS }),
        await home({ gc_after: now() - DAY_MS, provider: 'volume', ref: 'service-home-x' }),
      ];
      await home({ gc_after: now() - DAY_MS + 1 });
      await home({ gc_after: null });
      await home({ gc_after: now() - 9 * DAY_MS, host_id: hostB?.id ?? null });
      await home({ gc_after: now() - 9 * DAY_MS, host_id: null });
      expect(await pending()).toEqual([
        { id: older, provider: 'local', ref: `/homes/${older}` },
        { id: due, provider: 'volume', ref: 'service-home-x' },
      ]);
      expect(await idsOf()).toHaveLength(6);
    });

    test('are at most a hundred, with a cursor to the next ones', async () => {
      const page = async (query = '') =>
        (
          await app.call(null, 'GET', `/v1/agent/storage/gc-pending${query}`, {
            headers: hostA?.headers ?? {},
          })
        ).body;
      const old: string[] = [];
      for (let count = 0; count < 100; count++) old.push(await home({ gc_after: 0 }));
      const [young, youngest] = [await home({ gc_after: 1 }), await home({ gc_after: 2 })];
      const ids = ({ homes }: { homes: { id: string }[] }) => homes.map(({ id }) => id);
      const first = await page();
      expect(ids(first)).toEqual(old.sort());
      const second = await page(`?cursor=${first.next_cursor}`);
      expect([ids(second), second.next_cursor]).toEqual([[young, youngest], null]);
      // The same request returns the same list, because no home was deleted.
      expect(await page()).toEqual(first);
    });

    test('with a cursor of another list is 400', async () => {
      const answer = await app.call(null, 'GET', '/v1/agent/storage/gc-pending?cursor=x', {
        headers: hostA?.headers ?? {},
      });
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    });

    test('are not decided by a clock that is ahead for a moment', async () => {
      const [due, marked] = [await home({ gc_after: 0 }), await home({ gc_after: now() })];
      app.clock.jump(3 * DAY_MS);
      expect((await pending()).map(({ id }: { id: string }) => id)).toEqual([due]);
      expect((await confirm([marked])).body).toMatchObject({ deleted: 0, kept_ids: [marked] });
      app.clock.jump(-3 * DAY_MS);
      expect(await idsOf()).toHaveLength(2);
    });

    test.each(['running', 'stopping'] as const)(
      'leave out a home with a session that is %s',
      async (state) => {
        await home({ user_id: app.people.alice.id, app_id: game, gc_after: 0 });
        await uses(tile, state);
        expect(await pending()).toEqual([]);
        await db().updateTable('sessions').set({ state: 'stopped' }).execute();
        expect(await pending()).toHaveLength(1);
      },
    );
  });

  describe('a confirmation', () => {
    test('deletes what is past its grace, keeps the rest, and counts the unknown as deleted; a repeat is the same', async () => {
      const [due, live, young] = [
        await home({ gc_after: now() - DAY_MS }),
        await home({ gc_after: null }),
        await home({ gc_after: now() - DAY_MS + 1 }),
      ];
      const foreign = await home({ gc_after: 0, host_id: hostB?.id ?? null });
      const ids = [due, live, young, foreign, UNKNOWN_ID];
      for (const _ of ['first', 'repeat']) {
        const answer = await confirm(ids);
        expect([answer.status, answer.body]).toEqual([
          200,
          { deleted: 3, deleted_ids: [due, foreign, UNKNOWN_ID], kept_ids: [live, young] },
        ]);
      }
      expect(await idsOf()).toEqual([live, young, foreign].sort());
      expect(await loggedActivity(app, { action: 'storage.gc.confirm' })).toEqual([
        expect.objectContaining({
          actor_user_id: null,
          target_id: hostA?.id,
          details: { requested: 5, deleted: 1 },
        }),
      ]);
    });

    test('takes ids in either case, each once', async () => {
      const id = await home({ gc_after: 0 });
      expect((await confirm([id.toUpperCase(), id])).body).toEqual({
        deleted: 1,
        deleted_ids: [id],
        kept_ids: [],
      });
    });

    test.each([
      ['no home', []],
      ['a hundred and one', Array.from({ length: 101 }, () => UNKNOWN_ID)],
      ['a malformed id', ['x']],
      ['no list', 'x'],
      ['null', null],
    ])('of %s is 400', async (_what, ids) => {
      expect((await confirm(ids)).status).toBe(400);
    });

    test('ignores keys that it does not know', async () => {
      const answer = await app.call(null, 'POST', '/v1/agent/storage/gc-confirm', {
        body: { home_ids: [UNKNOWN_ID], newer: 1 },
        headers: hostA?.headers ?? {},
      });
      expect(answer.status).toBe(200);
    });
  });

  test.each([
    ['no credential', {}],
    ['an unknown host', { 'x-service-node': 'nobody' }],
    ['a wrong secret', { authorization: `Bearer ${'x'.repeat(43)}` }],
    ['a malformed secret', { authorization: 'Bearer x' }],
    ['the secret of another host', { 'x-service-node': 'hostb' }],
    ['an account', { authorization: 'admin' }],
  ])(
    'with %s both calls of hosts are one and the same 401',
    async (what, changed: Record<string, string>) => {
      const headers = what === 'no credential' ? {} : { ...hostA?.headers, ...changed };
      if (headers.authorization === 'admin') headers.authorization = `Bearer ${app.people.admin.token}`;
      const id = await home({ gc_after: 0 });
      const answers = [
        await app.call(null, 'GET', '/v1/agent/storage/gc-pending', { headers }),
        await app.call(null, 'POST', '/v1/agent/storage/gc-confirm', { headers, body: { home_ids: [id] } }),
        await app.call(null, 'POST', '/v1/agent/storage/gc-confirm', { headers, body: { home_ids: 7 } }),
      ];
      for (const { status, text } of answers)
        expect([status, text]).toEqual([
          401,
          '{"error":{"code":"unauthorized","message":"The node credential is not valid."}}',
        ]);
      expect(await idsOf()).toEqual([id]);
    },
  );

  test('records whose host is deleted are deleted at once, and counted', async () => {
    const kept = await home({ gc_after: 0 });
    for (let count = 0; count < 501; count++) await home({ host_id: null, gc_after: now() });
    await app.plane.platform.jobs.runNow('storage.home_janitor');
    expect(await idsOf()).toEqual([kept]);
    const { body } = await app.call(app.people.admin, 'GET', '/v1/admin/jobs/storage.home_janitor');
    expect(body.last_run).toMatchObject({ state: 'succeeded', summary: { deleted_unreapable: 501 } });
  });
});
