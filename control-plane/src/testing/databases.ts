import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { type PostgresDatabase, type PostgresServer, usePostgres } from '@footlight/test-harness';
import { afterAll, describe } from 'vitest';
import type { DatabaseTarget } from '../platform/database/index.ts';

/** Creates databases of one dialect for a suite. */
export interface TestDatabases {
  readonly dialect: 'sqlite' | 'postgres';
  /** Creates an empty database and deletes it after the suite. Close its users in afterAll or earlier. */
  fresh(): Promise<DatabaseTarget>;
}

let postgres: Promise<PostgresServer> | null = null;

/**
 * Runs the suite on SQLite and on Postgres. Call at the top level of a file: a Postgres server that this file starts
 * ends with the file.
 */
export function describeDatabases(name: string, suite: (databases: TestDatabases) => void): void {
  describe(`${name} (sqlite)`, () => {
    const folders: string[] = [];
    afterAll(() => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    });
    suite({
      dialect: 'sqlite',
      async fresh() {
        const folder = mkdtempSync(join(tmpdir(), 'footlight-db-'));
        folders.push(folder);
        return { dialect: 'sqlite', file: join(folder, 'control.db') };
      },
    });
  });

  // Registered on the file, before the suite's own hooks: Vitest runs afterAll hooks in reverse order.
  afterAll(async () => {
    const server = postgres;
    postgres = null;
    await (await server)?.stop();
  });
  describe(`${name} (postgres)`, () => {
    const databases: PostgresDatabase[] = [];
    afterAll(async () => {
      for (const database of databases) await database.drop();
    });
    suite({
      dialect: 'postgres',
      async fresh() {
        postgres ??= usePostgres();
        const database = await (await postgres).createDatabase();
        databases.push(database);
        return { dialect: 'postgres', url: database.url };
      },
    });
  });
}
