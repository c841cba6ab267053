import { type Compilable, type Insertable, type Kysely, PostgresAdapter } from 'kysely';
import type { Executor } from '../database.ts';
import { type Locks, POSTGRES_LOCKS, SQLITE_LOCKS } from '../locks/locks.ts';
import type { Schema } from '../schema.ts';

/**
 * A query for store functions, inside or outside a transaction.
 * @param build gets the lock clauses of the database in use. A list in an `in` needs at least one value
 */
export function statement<Lists, Values, Row>(
  build: (db: Kysely<Schema>, lists: Lists, values: Values, locks: Locks) => Compilable<Row>,
): (db: Executor, lists: Lists, values: Values) => Promise<Row[]> {
  return async (db, lists, values) => {
    const locks = db.getExecutor().adapter instanceof PostgresAdapter ? POSTGRES_LOCKS : SQLITE_LOCKS;
    return (await db.executeQuery(build(db, lists, values, locks).compile())).rows;
  };
}

/** An insert of any number of rows with the same columns. Postgres takes 65,535 values, SQLite 32,766. */
export function insertStatement<Table extends keyof Schema & string>(
  table: Table,
): (db: Executor, rows: readonly Insertable<Schema[Table]>[]) => Promise<void> {
  return async (db, rows) => {
    if (rows.length > 0)
      await db
        .insertInto(table)
        .values(rows as never)
        .execute();
  };
}
