import { CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestApp,
  describeDatabases,
  TEST_EPOCH_MS,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';
import { insertEntry, selectEntries } from './store.ts';

describeDatabases('GET /v1/admin/activity', ({ fresh, dialect }) => {
  let app: TestApp;
  /** Ids of the entries below in order of time; each is a second later than the one before. */
  let ids: number[];

  beforeAll(async () => {
    app = await createTestApp(await fresh());
    const { admin, alice, bob } = app.people;
    const { database } = app.plane.platform;
    const entries = [
      [admin, 'app.create', 'app', 'game-1', { name: 'Quake' }],
      [admin, 'app.delete', 'app', 'game-1', { name: 'Quake' }],
      [alice, 'user.device.revoked', 'user', alice.id, {}],
      [null, 'session.failed', 'session', 's1', { code: 'app_crashed' }],
      [bob, 'application.odd', 'thing', null, {}],
      [admin, 'host.drain', 'host', 'h%_\\x', {}],
      [admin, 'Äpp.renamed', 'app', 'game-2', {}],
    ] as const;
    for (const [actor, action, targetType, targetId, details] of entries) {
      await write(actor?.id ?? null, action, targetType, targetId, details);
      await app.clock.pass(1_000);
    }
    ids = (await database.db.selectFrom('activity').select('id').orderBy('id').execute()).map(({ id }) => id);
  });
  afterAll(() => app.close());

  /** Writes an entry with any action, like an entry that another version wrote. */
  const write = (actor: string | null, action: string, type = 'x', id: string | null = null, details = {}) =>
    insertEntry(app.plane.platform.database.db, {
      actor_user_id: actor,
      action,
      target_type: type,
      target_id: id,
      details: JSON.stringify(details),
      created_at: app.clock.nowMs(),
    });

  const get = (query: Record<string, string> | [string, string][] = {}) =>
    app.call(app.people.admin, 'GET', `/v1/admin/activity?${new URLSearchParams(query)}`);
  /** Finds the entries that match the filter, newest first. @returns their positions in the list above */
  const found = async (query: Record<string, string>): Promise<number[]> =>
    (await get(query)).body.items.map(({ id }: { id: number }) => ids.indexOf(id));

  test('lists everything newest first, with the actor, the details and the severity', async () => {
    const { status, body } = await get();
    expect(status).toBe(200);
    expect(body.items.map(({ id }: { id: number }) => id)).toEqual([...ids].reverse());
    expect(body.next_cursor).toBeNull();
    expect(body.items[6]).toEqual({
      id: ids[0],
      actor_user_id: app.people.admin.id,
      actor_username: 'admin',
      action: 'app.create',
      target_type: 'app',
      target_id: 'game-1',
      details: { name: 'Quake' },
      created_at: new Date(TEST_EPOCH_MS).toISOString(),
      severity: 'info',
    });
    expect(body.items.map(({ severity }: { severity: string }) => severity)).toEqual([
      'info',
      'warn',
      'info',
      'err',
      'warn',
      'warn',
      'info',
    ]);
    expect(body.items[3]).toMatchObject({
      actor_user_id: null,
      actor_username: null,
      details: { code: 'app_crashed' },
    });
    expect(body.items[2]).toMatchObject({ target_id: null, details: {} });
  });

  describe('pages', () => {
    test('are linked by the number of the last entry; the last page has null', async () => {
      const seen: number[] = [];
      let cursor: number | null = null;
      do {
        const { body } = await get({ limit: '3', ...(cursor !== null && { cursor: String(cursor) }) });
        seen.push(...body.items.map(({ id }: { id: number }) => id));
        cursor = body.next_cursor;
        if (cursor !== null) expect(cursor).toBe(seen.at(-1));
      } while (cursor !== null);
      expect(seen).toEqual([...ids].reverse());
    });

    test('are not followed by an empty one', async () => {
      const { body } = await get({ limit: '7' });
      expect([body.items.length, body.next_cursor]).toEqual([7, null]);
    });

    test.each([
      ['0', 50],
      ['-1', 50],
      ['101', 50],
      ['1000', 50],
      ['many', 50],
      ['', 50],
      ['1.5', 50],
      ['1', 1],
      ['100', 100],
    ])('of limit=%s have at most %d entries', async (limit, size) => {
      const { body } = await get({ limit });
      expect(body.items).toHaveLength(Math.min(size, ids.length));
    });

    test.each(['x', '', '1.5', '1e3', ' 1', '0x10', '9223372036854775808', '9'.repeat(20)])(
      'of cursor=%j are 400',
      async (cursor) => {
        const answer = await get({ cursor });
        expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
      },
    );

    test.each([
      ['9223372036854775807', 7],
      ['0', 0],
      ['-9223372036854775808', 0],
    ])('of cursor=%s, an int64, are answered', async (cursor, size) => {
      expect((await get({ cursor })).body.items).toHaveLength(size);
    });
  });

  describe('filters', () => {
    /** Time when the entry at this position was written. */
    const at = (index: number) => new Date(TEST_EPOCH_MS + index * 1_000).toISOString();
    test('action: how it begins', async () => {
      expect(await found({ action: 'app' })).toEqual([4, 1, 0]);
      expect(await found({ action: 'app.' })).toEqual([1, 0]);
      expect(await found({ action: 'app.delete' })).toEqual([1]);
      expect(await found({ action: 'delete' })).toEqual([]);
      expect(await found({ action: 'Ä' })).toEqual([6]);
      expect(await found({ action: '%' })).toEqual([]);
      expect(await found({ action: '' })).toHaveLength(7);
    });

    test('actor_user_id, in either case', async () => {
      expect(await found({ actor_user_id: app.people.admin.id.toUpperCase() })).toEqual([6, 5, 1, 0]);
      expect(await found({ actor_user_id: UNKNOWN_ID })).toEqual([]);
    });

    test('target_type: exactly', async () => {
      expect(await found({ target_type: 'app' })).toEqual([6, 1, 0]);
      expect(await found({ target_type: 'ap' })).toEqual([]);
    });

    test('since: that moment and later, in any zone', async () => {
      expect(await found({ since: at(5) })).toEqual([6, 5]);
      expect(await found({ since: at(5).replace('000Z', '001Z') })).toEqual([6]);
      const inTwoHours = new Date(TEST_EPOCH_MS + 5_000 + 2 * 3_600_000).toISOString();
      expect(await found({ since: inTwoHours.replace('Z', '+02:00') })).toEqual([6, 5]);
    });

    test('target_id: exactly', async () => {
      expect(await found({ target_id: 'game-1' })).toEqual([1, 0]);
      expect(await found({ target_id: 'game' })).toEqual([]);
      expect(await found({ target_id: 'h%_\\x', target_type: 'host' })).toEqual([5]);
    });

    test('until: before that moment', async () => {
      expect(await found({ until: at(2) })).toEqual([1, 0]);
      expect(await found({ since: at(1), until: at(3) })).toEqual([2, 1]);
    });

    test('q: a part of the action, of the target id or of the name of the actor, in any case', async () => {
      expect(await found({ q: 'DELETE' })).toEqual([1]);
      expect(await found({ q: 'GAME-1' })).toEqual([1, 0]);
      expect(await found({ q: 'dmin' })).toEqual([6, 5, 1, 0]);
      expect(await found({ q: 'bob' })).toEqual([4]);
      expect(await found({ q: 'pP.R' })).toEqual([6]);
      expect(await found({ q: 'Quake' })).toEqual([]);
    });

    test('q: %, _ and \\ are literal', async () => {
      for (const q of ['%', '_', '\\', '%_\\x']) expect(await found({ q })).toEqual([5]);
      expect(await found({ q: 'game_1' })).toEqual([]);
    });

    test('together: all of them have to fit', async () => {
      const query = { action: 'app.', actor_user_id: app.people.admin.id, target_type: 'app', q: 'del' };
      expect(await found(query)).toEqual([1]);
      expect(await found({ ...query, limit: '1', cursor: String(ids[1]) })).toEqual([]);
      expect(await found({ ...query, actor_user_id: app.people.bob.id })).toEqual([]);
    });

    test.each([
      ['action', 'x'.repeat(129)],
      ['target_type', 'x'.repeat(65)],
      ['q', 'x'.repeat(129)],
      ['action', 'a\0'],
      ['q', '\0'],
      ['actor_user_id', 'x'],
      ['actor_user_id', ''],
      ['since', 'yesterday'],
      ['since', '2026-06-02'],
      ['since', '2026-06-02T12:00:00'],
      ['since', '2026-02-30T12:00:00Z'],
      ['since', '1780401600'],
      ['until', 'tomorrow'],
      ['target_id', 'x'.repeat(129)],
    ])('%s=%j is 400', async (name, value) => {
      const answer = await get({ [name]: value });
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    });

    test('given twice are 400', async () => {
      expect(
        (
          await get([
            ['q', 'a'],
            ['q', 'b'],
          ])
        ).status,
      ).toBe(400);
    });
  });

  test('finds the entries of an account by a part of its name in any letters and any case', async () => {
    const person = await app.addPerson('Jörg');
    await write(person.id, 'letter.sent');
    expect((await get({ q: 'ÖRG' })).body.items).toEqual([
      expect.objectContaining({ actor_username: 'Jörg', action: 'letter.sent' }),
    ]);
  });

  test('forgets the name of an actor who is deleted, and keeps the entry', async () => {
    const leaver = await app.addPerson('leaver');
    const { database } = app.plane.platform;
    await write(leaver.id, 'leaver.was');
    await database.db.deleteFrom('users').where('id', '=', leaver.id).execute();
    expect((await get({ action: 'leaver.' })).body.items).toEqual([
      expect.objectContaining({ actor_user_id: leaver.id, actor_username: null }),
    ]);
  });

  describe('on a log of 30,000 entries', () => {
    beforeAll(async () => {
      const { database } = app.plane.platform;
      await sql`
        insert into activity (actor_user_id, action, target_type, target_id, details, created_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
        select case when i % 3000 = 0 then ${app.people.bob.id} else ${app.people.alice.id} end,
          case when i % 3000 = 0 then 'rare.' || i else 'common.' || (i % 7) end,
          case when i % 3000 = 0 then 'rarity' else 'app' end,
          case when i % 3000 = 0 then 'thing' || i else 'x' end, '{}', cast(${TEST_EPOCH_MS} as bigint) + i
        from n`.execute(database.db);
      if (dialect === 'postgres') await sql`analyze activity`.execute(database.db);
    });

    const planOf = async (filter: object): Promise<string> => {
      const { database } = app.plane.platform;
      const { sql: text, parameters } = selectEntries(database, { limit: 50, ...filter }).compile();
      const explain = dialect === 'sqlite' ? 'explain query plan' : 'explain';
      const { rows } = await database.db.executeQuery(
        CompiledQuery.raw(`${explain} ${text}`, [...parameters]),
      );
      return rows.map((row) => Object.values(row as object).join(' ')).join('\n');
    };

    test.each<[string, () => object, { sqlite: string[]; postgres: string[] }]>([
      [
        'action',
        () => ({ action: 'rare.' }),
        { sqlite: ['activity_by_action (action>? AND action<?)'], postgres: ['activity_by_action_bytes'] },
      ],
      [
        'actor_user_id',
        () => ({ actor_user_id: app.people.bob.id }),
        { sqlite: ['activity_by_actor (actor_user_id=?)'], postgres: ['activity_by_actor'] },
      ],
      [
        'target_type',
        () => ({ target_type: 'rarity' }),
        { sqlite: ['activity_by_target_type (target_type=?)'], postgres: ['activity_by_target_type'] },
      ],
      [
        'target_id',
        () => ({ target_id: 'thing3000' }),
        { sqlite: ['activity_by_target (target_id=?)'], postgres: ['activity_by_target '] },
      ],
      [
        'target_type and target_id, as the page of a session asks',
        () => ({ target_type: 'app', target_id: 'thing3000' }),
        {
          sqlite: ['activity_by_target (target_id=? AND target_type=?)'],
          postgres: ['activity_by_target '],
        },
      ],
      [
        'since',
        () => ({ since: TEST_EPOCH_MS + 29_999 }),
        {
          sqlite: ['INTEGER PRIMARY KEY (rowid>?)', 'COVERING INDEX activity_by_time (created_at>?)'],
          postgres: ['activity_by_time'],
        },
      ],
      [
        'cursor',
        () => ({ cursor: 200 }),
        { sqlite: ['INTEGER PRIMARY KEY (rowid<?)'], postgres: ['activity_pkey'] },
      ],
    ])('the filter by %s is answered from an index', async (_, filter, expected) => {
      const plan = await planOf(filter());
      for (const part of expected[dialect]) expect(plan).toContain(part);
      expect(plan).not.toMatch(/SCAN activity|Seq Scan on activity/);
    });

    test('the first page is read from the newest entry on, without sorting', async () => {
      const plan = await planOf({});
      if (dialect === 'sqlite') expect(plan).not.toContain('TEMP B-TREE');
      else expect(plan).toMatch(/Index (Only )?Scan Backward using activity_pkey/);
    });

    test('still finds what is rare', async () => {
      expect((await get({ action: 'rare.', limit: '100' })).body.items).toHaveLength(10);
      const since = new Date(TEST_EPOCH_MS + 29_999).toISOString();
      expect((await get({ since, action: 'rare.' })).body.items).toHaveLength(1);
      expect((await get({ since: '2100-01-01T00:00:00Z' })).body.items).toEqual([]);
    });
  });
});
