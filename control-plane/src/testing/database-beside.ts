import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import pg from 'pg';

/** Access to the database of a service that runs in its own process, even after that process has ended. */
export interface DatabaseBeside {
  /** Environment variables that name the database for the service. */
  readonly env: Record<string, string>;
  /** Runs a statement without parameters, in SQL that both databases accept. @returns its rows */
  rows<Row>(statement: string): Promise<Row[]>;
  close(): Promise<void>;
}

interface PostgresServer {
  createDatabase(): Promise<{ url: string; drop(): Promise<void> }>;
  stop(): Promise<void>;
}

/**
 * @param folder data folder of the service, which contains SQLite's file @param usePostgres the function of the test
 *   harness
 */
export async function databaseBeside(
  dialect: 'sqlite' | 'postgres',
  folder: string,
  usePostgres: () => Promise<PostgresServer>,
): Promise<DatabaseBeside> {
  return dialect === 'sqlite' ? sqliteIn(folder) : onPostgres(await usePostgres());
}

function sqliteIn(folder: string): DatabaseBeside {
  return {
    env: {},
    async rows<Row>(text: string) {
      const database = new BetterSqlite3(join(folder, 'control.db'));
      try {
        const statement = database.prepare(text);
        if (statement.reader) return statement.all() as Row[];
        statement.run();
        return [];
      } finally {
        database.close();
      }
    },
    close: async () => undefined,
  };
}

async function onPostgres(server: PostgresServer): Promise<DatabaseBeside> {
  const database = await server.createDatabase();
  return {
    env: { DATABASE_URL: database.url },
    async rows<Row>(statement: string) {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      try {
        return (await client.query(statement)).rows as Row[];
      } finally {
        await client.end();
      }
    },
    async close() {
      await database.drop();
      await server.stop();
    },
  };
}
