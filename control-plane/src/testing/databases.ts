import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@footlight/platform';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { type PostgresDatabase, type PostgresServer, usePostgres } from '@footlight/test-harness';
import { afterAll, describe } from 'vitest';
import { RESERVE_BYTES } from '../platform/database/engine/sqlite-file.ts';
import { type DatabaseTarget, openDatabase } from '../platform/database/index.ts';

/** Whether suites run on Postgres too. FOOTLIGHT_TEST_DATABASES is `sqlite` or `both`; without a value it is `both`. */
const withPostgres = process.env.FOOTLIGHT_TEST_DATABASES !== 'sqlite';

/** Creates databases of one dialect for a suite. */
export interface TestDatabases {
  readonly dialect: 'sqlite' | 'postgres';
  /**
   * Creates a database with the newest schema, as after the first start, and deletes it after the suite. Close
   * everything that uses it in afterAll or earlier.
   */
  fresh(): Promise<DatabaseTarget>;
  /** Creates a database without a schema, for tests of migrations. */
  empty(): Promise<DatabaseTarget>;
}

// A migrated database file that is copied for each test. Migrating took 60 of the 150 ms of CPU time of a test app on
// SQLite (2 cores).
let sqliteTemplate: Promise<Buffer> | null = null;
/** Templates by the URL of the server, which is used by several test files. */
const postgresTemplates = new Map<string, Promise<PostgresDatabase>>();

async function migrateDatabase(target: DatabaseTarget): Promise<void> {
  await (await openDatabase(target, { logger: createLogger('silent') })).close();
}

async function makeSqliteTemplate(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-template-'));
  try {
    const file = join(folder, 'control.db');
    await migrateDatabase({ dialect: 'sqlite', file });
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Template of this server; it is deleted when the server ends. */
function postgresTemplate(server: PostgresServer): Promise<PostgresDatabase> {
  let template = postgresTemplates.get(server.url);
  if (template === undefined) {
    template = (async () => {
      const database = await server.createDatabase();
      await migrateDatabase({ dialect: 'postgres', url: database.url });
      return database;
    })();
    postgresTemplates.set(server.url, template);
  }
  return template;
}

let postgres: Promise<PostgresServer> | null = null;

/**
 * Runs a suite only on SQLite. Use it for tests of memory, sockets or time, whose result does not depend on the
 * database.
 */
export function describeSqlite(name: string, suite: (databases: TestDatabases) => void): void {
  describe(name, () => {
    const folders: string[] = [];
    afterAll(() => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    });
    const newFile = () => {
      const folder = mkdtempSync(join(tmpdir(), 'footlight-db-'));
      folders.push(folder);
      return join(folder, 'control.db');
    };
    suite({
      dialect: 'sqlite',
      async fresh() {
        sqliteTemplate ??= makeSqliteTemplate();
        const file = newFile();
        writeFileSync(file, await sqliteTemplate, { mode: 0o600 });
        // A sparse file as disk reserve, because writing its data took a tenth of the time of a test app.
        writeFileSync(`${file}.reserve`, '', { mode: 0o600 });
        truncateSync(`${file}.reserve`, RESERVE_BYTES);
        return { dialect: 'sqlite', file };
      },
      empty: async () => ({ dialect: 'sqlite', file: newFile() }),
    });
  });
}

/**
 * Runs the suite on SQLite, and on Postgres if this run uses it. Call this at the top level of a file, because a
 * Postgres server that the file starts ends with the file.
 */
export function describeDatabases(name: string, suite: (databases: TestDatabases) => void): void {
  describeSqlite(`${name} (sqlite)`, suite);
  if (withPostgres) describePostgres(`${name} (postgres)`, suite);
}

/** Runs a suite only on Postgres. Call this at the top level of a file. */
export function describePostgres(name: string, suite: (databases: TestDatabases) => void): void {
  // Registered before the suite's own hooks, because Vitest runs afterAll hooks in reverse order.
  afterAll(async () => {
    const server = postgres;
    postgres = null;
    await (await server)?.stop();
  });
  describe(name, () => {
    const databases: PostgresDatabase[] = [];
    afterAll(async () => {
      for (const database of databases) await database.drop();
    });
    const create = async (isEmpty: boolean): Promise<DatabaseTarget> => {
      postgres ??= usePostgres();
      const server = await postgres;
      const database = await server.createDatabase(isEmpty ? undefined : await postgresTemplate(server));
      databases.push(database);
      return { dialect: 'postgres', url: database.url };
    };
    suite({ dialect: 'postgres', fresh: () => create(false), empty: () => create(true) });
  });
}
