import { createLogger } from '@footlight/platform';
import { nonterminalStates } from '@footlight/protocol';
import type { SessionOrder } from '@footlight/protocol/rest';
import { type CompiledQuery, type KyselyPlugin, CompiledQuery as Raw, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findAccountByEmail, findLiveTokenExpiry, isAdminPage, liveTokenFinder } from '../accounts/store.ts';
import { listExpiredUsers, listUsers } from '../accounts/users/store.ts';
import { createAppList } from '../catalog/app-list.ts';
import { listEntitlements, listEntitlementsOfUser } from '../catalog/entitlements/store.ts';
import { loadCandidates } from '../catalog/highlights/store.ts';
import {
  countSessionsSince,
  findEntitledApp,
  isEntitled,
  listAllApps,
  loadAllowLists,
} from '../catalog/store.ts';
import { type Database, type Executor, openDatabase } from '../platform/database/index.ts';
import { loadDisplayStreams } from '../profiles/rungs/display-streams.ts';
import { readOrder } from '../sessions/list-order.ts';
import { type AdminFilter, countAllSessions, listAllSessions } from '../sessions/list-store.ts';
import { listDueHomes, listHomes } from '../storage/collection-store.ts';
import { findCapture } from '../telemetry/capture-store.ts';
import { describeDatabases, TEST_EPOCH_MS } from '../testing/index.ts';
import { fillLargeCatalog, type LargeCatalog } from '../testing/large/large-catalog.ts';

/** Large enough that planners prefer an index if there is one. */
const SIZE = { users: 1_000, apps: 400, entitlements: 20_000, signedIn: 3 };

describeDatabases('query plans on a large instance', ({ dialect, fresh }) => {
  let database: Database;
  let catalog: LargeCatalog;
  beforeAll(async () => {
    database = await openDatabase(await fresh(), { logger: createLogger('silent') });
    catalog = await fillLargeCatalog(database, SIZE, 'none', TEST_EPOCH_MS);
  });
  afterAll(() => database.close());

  const user = () => catalog.users[1]?.id ?? '';
  const app = () => catalog.apps[0]?.id ?? '';

  /** The database, and a list of all queries that run through it. */
  function recorded(): { database: Database; queries: CompiledQuery[] } {
    const queries: CompiledQuery[] = [];
    const recorder: KyselyPlugin = {
      transformQuery({ node, queryId }) {
        queries.push(database.db.getExecutor().compileQuery(node, queryId));
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const db = database.db.withPlugin(recorder);
    return { queries, database: { ...database, db } };
  }

  /** The query plans of all queries of `work`, in which full scans are avoided where an index can be used. */
  async function plansOf(work: (database: Database) => Promise<unknown>): Promise<string> {
    const { database: observed, queries } = recorded();
    await work(observed);
    expect(queries.length).toBeGreaterThan(0);
    return database.transaction(async (tx) => {
      // Planners read a small table completely even if it has indexes; this setting shows whether an index could be
      // used.
      if (dialect === 'postgres') await sql`set local enable_seqscan = off`.execute(tx);
      const plans: string[] = [];
      for (const { sql: text, parameters } of queries) {
        const explain = dialect === 'sqlite' ? 'explain query plan' : 'explain';
        const { rows } = await tx.executeQuery(Raw.raw(`${explain} ${text}`, [...parameters]));
        const steps = rows.map((row) =>
          String((row as Record<string, unknown>)[dialect === 'sqlite' ? 'detail' : 'QUERY PLAN']),
        );
        plans.push(text, ...steps);
      }
      return plans.join('\n');
    });
  }

  const TABLES = 'users|entitlements|apps|auth_tokens|activity|devices|sessions|favourites|storage_homes';
  const WHOLE = {
    // These index scans are allowed: a scan in the page's order ends with the page, and a partial index contains only
    // the requested rows.
    sqlite: new RegExp(
      `SCAN (${TABLES})(?! USING (COVERING )?INDEX (apps_by_created|users_by_created|storage_homes_by_created|entitlements_all|sessions_newest|sessions_failed))`,
    ),
    postgres: new RegExp(`Seq Scan on (${TABLES})`),
  };

  const first = { limit: 50, offset: 0 };
  const EVERY = { states: null, q: undefined, hostId: undefined };
  const ENDED = { ...EVERY, states: ['stopped'] as const };
  const LIVE = { ...EVERY, states: nonterminalStates };
  const sessions = (db: Executor, filter: AdminFilter, sort?: `${'' | '-'}${SessionOrder}`) =>
    listAllSessions(db, filter, readOrder(sort), null, 50);
  const list = (database: Database, limit: number) =>
    createAppList(database, { loadDisplayStreams }).body(user(), { limit });

  test.each<[string, (database: Database) => Promise<unknown>]>([
    ['the app list', (database) => list(database, 50)],
    ['a long app list', (database) => list(database, 500)],
    [
      'the app list of the second person after a write',
      async (database) => {
        const lists = createAppList(database, { loadDisplayStreams });
        await lists.body(catalog.users[2]?.id ?? '', { limit: 50 });
        await lists.body(user(), { limit: 50 });
      },
    ],
    ['one app', ({ db }) => findEntitledApp(db, user(), app())],
    ['the entitlement of one app', ({ db }) => isEntitled(db, user(), app())],
    ['the highlights', ({ db }) => loadCandidates(db, user(), [app()])],
    ["the administrators' app list", ({ db }) => listAllApps(db, null, first)],
    [
      'its counts and allow-lists',
      async ({ db }) => {
        await countSessionsSince(db, [app()], TEST_EPOCH_MS);
        await loadAllowLists(db, [app()]);
      },
    ],
    ['the entitlements of an app', ({ db }) => listEntitlements(db, app())],
    ['the entitlements of an account', ({ db }) => listEntitlementsOfUser(db, user())],
    ['the list of accounts', ({ db }) => listUsers(db, undefined, null, 50)],
    [
      'a later page of the list of accounts',
      ({ db }) => listUsers(db, undefined, { created_at: TEST_EPOCH_MS, id: user() }, 50),
    ],
    ['accounts that end by themselves', ({ db }) => listExpiredUsers(db, TEST_EPOCH_MS, 50)],
    ['a bearer token', (database) => liveTokenFinder(database, () => TEST_EPOCH_MS)('0'.repeat(64))],
    ['a token that outlives its request', ({ db }) => findLiveTokenExpiry(db, user(), TEST_EPOCH_MS)],
    ['the page cookie', ({ db }) => isAdminPage(db, ['0'.repeat(64)], TEST_EPOCH_MS)],
    ['the list of homes', ({ db }) => listHomes(db, {}, null, 50)],
    [
      'a later page of the list of homes',
      ({ db }) => listHomes(db, { pending_gc: true }, { created_at: TEST_EPOCH_MS, id: user() }, 50),
    ],
    ["an account's homes", ({ db }) => listHomes(db, { user_id: user() }, null, 50)],
    ['homes that a host shall collect', ({ db }) => listDueHomes(db, user(), TEST_EPOCH_MS, null, 100)],
    [
      'a later page of them',
      ({ db }) => listDueHomes(db, user(), TEST_EPOCH_MS, { gc_after: 1, id: user() }, 100),
    ],
    ['the list of sessions', ({ db }) => sessions(db, EVERY)],
    ['the list of live sessions', ({ db }) => sessions(db, LIVE)],
    ['the list of ended sessions, oldest first', ({ db }) => sessions(db, ENDED, 'created')],
    ['the list of failed sessions', ({ db }) => sessions(db, { ...EVERY, states: ['failed'] })],
    [
      'a later page of the list of sessions',
      ({ db }) =>
        listAllSessions(db, EVERY, readOrder(undefined), { value: null, created_at: 1, id: user() }, 50),
    ],
    ...(['app', '-state', 'user', '-host', 'picture'] as const).map(
      (sort): [string, (database: Database) => Promise<unknown>] => [
        `the list of live sessions by ${sort}`,
        ({ db }) => sessions(db, LIVE, sort),
      ],
    ),
    ['the list of sessions of one host, by time', ({ db }) => sessions(db, { ...EVERY, hostId: user() })],
    [
      'the list of live sessions of one host, by app',
      ({ db }) => sessions(db, { ...LIVE, hostId: user() }, 'app'),
    ],
    ['the number of live sessions', ({ db }) => countAllSessions(db, LIVE)],
    ['the number of sessions of one host', ({ db }) => countAllSessions(db, { ...EVERY, hostId: user() })],
    ['a login', ({ db }) => findAccountByEmail(db, 'user5@example.test')],
  ])('%s reads no table from end to end', async (_what, work) => {
    expect(await plansOf(work)).not.toMatch(WHOLE[dialect]);
  });

  // To sort by a name, the database looks at all ended sessions. It must find them in an index, because the rows of some
  // sessions contain long logs.
  test.each([['app'], ['user'], ['-host']] as const)(
    'the list of ended sessions by %s reads no row of a session, except those of the page',
    async (sort) => {
      const plans = await plansOf(({ db }) => sessions(db, ENDED, sort));
      const scans = plans.match(/^.*(SCAN sessions|Scan .*on sessions).*$/gm) ?? [];
      expect(scans.filter((step) => !/COVERING|Index Only/.test(step))).toEqual([]);
    },
  );

  test('the ended sessions of one host are read by time, up to the end of the page', async () => {
    const plans = await plansOf(({ db }) => sessions(db, { ...ENDED, hostId: user() }));
    expect(plans).toContain('sessions_host');
    expect(plans).not.toMatch(/TEMP B-TREE|Sort/);
  });

  test('a capture is found by its id, without reading the other captures of its session', async () => {
    expect(await plansOf(({ db }) => findCapture(db, user(), user()))).toContain('session_captures_by_id');
  });

  test('a search among accounts reads accounts, and nothing else, from end to end', async () => {
    const plans = await plansOf(({ db }) => listUsers(db, 'user7', null, 50));
    expect(plans.replace(/SCAN users|Seq Scan on users/g, '')).not.toMatch(WHOLE[dialect]);
  });

  if (dialect === 'sqlite') {
    describe('a row that others refer to', () => {
      test('is deleted without reading a table that may refer to it from end to end', async () => {
        const { rows } = await sql<{ child: string; key: string }>`
          select m.name as child, f."from" as key from sqlite_schema m, pragma_foreign_key_list(m.name) f
          where m.type = 'table' and f."table" in ('users', 'apps', 'devices', 'hosts', 'sessions')
          and m.name not in ('instance_settings', 'secrets', 'invites')`.execute(database.db);
        expect(rows.length).toBeGreaterThan(10);
        for (const { child, key } of rows) {
          const plan = await sql<{ detail: string }>`explain query plan
            select 1 from ${sql.table(child)} where ${sql.ref(key)} = ${user()}`.execute(database.db);
          expect(`${child}.${key}: ${plan.rows[0]?.detail}`).toMatch(/: SEARCH /);
        }
      });
    });
  }
});
