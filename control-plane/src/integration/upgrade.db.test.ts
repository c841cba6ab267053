import { createLogger } from '@footlight/platform';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, type DatabaseTarget, openDatabase } from '../platform/database/index.ts';
import { createTestApp, describeDatabases, type Person, type TestApp } from '../testing/index.ts';
import * as release from '../testing/release-0.1.ts';

type Row = Record<string, unknown>;
/** A database whose tables are read by name: what they were is not what the schema's types say today. */
type Untyped = Kysely<Record<string, Row>>;

const logger = createLogger('silent');
const untyped = ({ db }: Database): Untyped => db as unknown as Untyped;

async function leaveBehind(target: DatabaseTarget): Promise<void> {
  const database = await openDatabase(target, { logger, lastStep: release.LAST_STEP });
  const db = untyped(database);
  for (const [table, rows] of release.TABLES)
    await db
      .insertInto(table)
      .values([...rows])
      .execute();
  for (const [table, row] of release.SINGLE_ROWS) await db.updateTable(table).set(row).execute();
  if (database.dialect === 'postgres') {
    // Numbers that were given must not be given again.
    await sql`select setval(pg_get_serial_sequence('activity', 'id'), 42)`.execute(db);
  }
  await database.close();
}

/** What steps after the release made of its rows on purpose. */
const CHANGED: Record<string, (row: Row) => Row> = {
  launch_profiles: ({ name, visibility, ...row }) => ({
    ...row,
    display_name: name,
    visibility: visibility === 'admin' ? 'internal' : visibility,
  }),
};

const everyTable = [...release.TABLES, ...release.SINGLE_ROWS.map(([table, row]) => [table, [row]] as const)];

describeDatabases('an instance of release 0.1', ({ empty }) => {
  let target: DatabaseTarget;
  beforeAll(async () => {
    target = await empty();
    await leaveBehind(target);
  });

  test('is known here with every table and a value in every column', async () => {
    const database = await openDatabase(target, { logger, lastStep: release.LAST_STEP });
    const tables = await database.db.introspection.getTables();
    await database.close();
    // What the migrator notes for itself is not of the release.
    const own = tables.filter(({ name }) => !name.startsWith('schema_'));
    const columns = own.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`));
    const filled = new Set(
      everyTable.flatMap(([table, rows]) =>
        rows.flatMap((row) =>
          Object.keys(row).flatMap((column) => (row[column] === null ? [] : [`${table}.${column}`])),
        ),
      ),
    );
    expect(columns.filter((column) => !filled.has(column))).toEqual([]);
  });

  describe('opened with this release', () => {
    let database: Database;
    beforeAll(async () => {
      database = await openDatabase(target, { logger });
    });
    afterAll(() => database.close());

    test.each(everyTable)('keeps every row of %s', async (table, rows) => {
      const expected = rows.map((row) => CHANGED[table]?.(row) ?? row);
      const kept = await untyped(database).selectFrom(table).selectAll().execute();
      // This release adds the account of the measurements.
      expect(kept).toHaveLength(expected.length + (table === 'users' ? 1 : 0));
      for (const row of expected) expect(kept).toContainEqual(expect.objectContaining(row));
    });
  });

  describe('started with this release', () => {
    let app: TestApp;
    const ada = { ...release.ADA, role: 'admin', token: release.BEARER_TOKEN } satisfies Person;
    beforeAll(async () => {
      app = await createTestApp(target, { seedPeople: false });
    });
    afterAll(() => app.close());

    const get = async (url: string) => {
      const answer = await app.call(ada, 'GET', url);
      expect(answer.status, `${url} ${answer.text}`).toBe(200);
      return answer.body;
    };

    test('lets people in with the old bearer token and with the old password', async () => {
      expect(await get('/v1/me')).toMatchObject({ user: { id: ada.id, role: 'admin' } });
      const login = (email: string, password: string) =>
        app.call(null, 'POST', '/v1/auth/login', { body: { email, password } });
      const signedIn = await login(ada.email, release.PASSWORD);
      expect([signedIn.status, signedIn.body.user?.id]).toEqual([200, ada.id]);
      expect((await login(ada.email, 'another password')).status).toBe(401);
      // Disabled then, disabled now.
      expect((await login(release.BEN.email, release.PASSWORD)).status).toBe(401);
    });

    test('shows apps with their tiles, allow-lists, entitlements and favourites', async () => {
      const { items } = await get('/v1/apps');
      expect(items).toEqual([
        expect.objectContaining({ id: release.TILE, parent_app_id: release.LAUNCHER, favourite: true }),
        expect.objectContaining({ id: release.LAUNCHER, default_profile_id: 'couch', favourite: false }),
      ]);
      const { app: launcher } = await get(`/v1/apps/${release.LAUNCHER}`);
      expect(launcher).toMatchObject({
        runtime_spec: { args: ['steam'], odd: { key: [1] } },
        launchable_profile_ids: expect.arrayContaining(['couch', 'lab']),
        profile_policy: 'prefer',
      });
      const granted = await get(`/v1/admin/apps/${release.TILE}/entitlements`);
      expect(granted.items).toEqual([
        expect.objectContaining({ subject_username: 'ada', granted_by: 'provider', source_ref: 'steam:440' }),
      ]);
    });

    test('shows hosts, sessions and what was done', async () => {
      expect((await get('/v1/hosts')).items).toEqual([
        expect.objectContaining({ id: release.HOST, node_name: 'attic' }),
      ]);
      expect((await get('/v1/admin/sessions')).items).toEqual([
        expect.objectContaining({ id: release.LIVE_SESSION, state: 'running' }),
        expect.objectContaining({ id: release.ENDED_SESSION, state: 'failed' }),
      ]);
      expect((await get('/v1/admin/activity')).items.at(-1)).toMatchObject({
        id: 41,
        actor_username: 'ada',
        action: 'app.create',
        details: { name: 'Steam' },
      });
    });

    test('gives new entries of the log new numbers', async () => {
      await app.call(ada, 'PATCH', '/v1/admin/settings', { body: { mic_capture_enabled: true } });
      expect((await get('/v1/admin/activity?action=instance.')).items[0].id).toBeGreaterThan(42);
    });

    test('keeps the settings, with any seeds in the environment', async () => {
      expect((await get('/v1/admin/settings')).settings).toMatchObject({
        registration_mode: 'invite_only',
        storage_provider: 'local',
        library_discovery_interval_minutes: 720,
        library_discovery_appdetails_enabled: true,
        mic_capture_enabled: true,
        image_update_policy: 'manual',
        flight_recorder_enabled: true,
        allowed_origins: ['https://play.example'],
        updated_by: ada.id,
      });
    });

    test('knows nothing yet of what people prefer', async () => {
      expect(await get('/v1/me/ui-preferences')).toEqual({ session_overlay: {} });
      expect((await get('/v1/me/devices')).devices).toEqual([
        expect.objectContaining({ device_key: 'the-key-of-a-device', active_session_id: null }),
      ]);
    });

    test('keeps pictures that were addresses, with no artwork of its own', async () => {
      const { app: launcher } = await get(`/v1/apps/${release.LAUNCHER}`);
      expect(launcher).toMatchObject({
        cover_url: '/covers/steam.png',
        hero_url: 'https://cdn.example/hero.png',
      });
      const { artwork } = await get(`/v1/admin/apps/${release.LAUNCHER}/artwork`);
      expect(artwork).toBeNull();
    });

    test('has no secrets yet', async () => {
      const { secrets } = await get('/v1/admin/secrets');
      expect(secrets.every(({ configured }: { configured: boolean }) => !configured)).toBe(true);
    });

    test('keeps its launch profiles, which nobody prefers and no policy makes the default', async () => {
      const { items } = await get('/v1/admin/launch-profiles');
      for (const [id, visibility] of [
        ['couch', 'user'],
        ['lab', 'internal'],
      ])
        expect(items).toContainEqual(expect.objectContaining({ id, visibility, rungs: [] }));
      expect(await get('/v1/me/profile-preferences')).toMatchObject({ default_profile_id: null });
    });
  });
});
