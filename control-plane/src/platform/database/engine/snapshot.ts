import { existsSync } from 'node:fs';
import { SECOND_MS, systemClock } from '@footlight/platform';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Schema } from '../schema.ts';
import type { DatabaseTarget } from './open.ts';
// Sets how the driver reads bigint.
import './open.ts';
import { SharedFile, SqliteDialect } from './sqlite-dialect.ts';

/**
 * Reads a database at one moment, for programs next to a running control plane. It changes and migrates nothing.
 * @throws an Error with a sentence when a SQLite file is missing; otherwise the errors of `read` and of the driver
 */
export async function readSnapshot<T>(
  target: DatabaseTarget,
  read: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  if (target.dialect === 'sqlite') {
    if (!existsSync(target.file)) throw new Error(`There is no database at ${target.file} yet.`);
    const connection = new BetterSqlite3(target.file, { readonly: true, fileMustExist: true });
    const file = new SharedFile(connection, { clock: systemClock, onFull: () => false });
    const db = new Kysely<Schema>({ dialect: new SqliteDialect(file) });
    try {
      // One deferred transaction for all reads; the one of `db` would take the write lock.
      connection.exec('begin');
      return await read(db);
    } finally {
      await db.destroy();
      connection.close();
    }
  }
  const pool = new pg.Pool({
    connectionString: target.url,
    max: 1,
    connectionTimeoutMillis: 5 * SECOND_MS,
    application_name: 'footlight-audit',
  });
  // A lost connection also fails the running statement, which reports it.
  pool.on('error', () => undefined);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  try {
    return await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(read);
  } finally {
    await db.destroy();
  }
}
