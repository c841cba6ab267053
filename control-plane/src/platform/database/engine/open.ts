import type { Logger } from '@footlight/platform';
import { type Clock, MINUTE_MS, SECOND_MS, systemClock } from '@footlight/platform';
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely';
import pg from 'pg';
import { ADVISORY_LOCKS, type Database, type Tx } from '../database.ts';
import { retryContended } from '../locks/contended.ts';
import { LockOrderGuard } from '../locks/lock-order.ts';
import { POSTGRES_LOCKS, SQLITE_LOCKS } from '../locks/locks.ts';
import { migrate, migrateUpTo } from '../migrate.ts';
import { insideTransaction, refuseInsideTransaction } from '../query/scope.ts';
import { onOneConnection, statementName } from '../query/statements.ts';
import type { Schema } from '../schema.ts';
import { classifyFailure, isContended } from './failures.ts';
import { SharedFile, SqliteDialect } from './sqlite-dialect.ts';
import { asDamage, DiskReserve, openSqliteFile } from './sqlite-file.ts';

/** Postgres allows 100 connections by default (max_connections), so four control planes fit. */
const POOL_SIZE = 20;
const STATEMENT_LIMIT_MS = 10 * SECOND_MS;
const RESERVE_CHECK_MS = 30 * SECOND_MS;
const MISSING_ATTEMPTS = 4;

// int8 and numeric (the sum of a bigint) are text by default; every value here fits a double.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

export type DatabaseTarget = { dialect: 'sqlite'; file: string } | { dialect: 'postgres'; url: string };

/**
 * Opens the database and migrates its schema.
 * @param options lastStep: schema of an earlier release, for tests; missing: the newest
 * @throws DamagedDatabase, or the driver's error when it cannot be reached; nothing stays open
 */
export async function openDatabase(
  target: DatabaseTarget,
  options: { logger: Logger; clock?: Clock; lastStep?: string },
): Promise<Database> {
  const clock = options.clock ?? systemClock;
  const opened =
    target.dialect === 'sqlite'
      ? openSqlite(target.file, options.logger, clock)
      : openPostgres(target.url, options.logger);
  try {
    const { lastStep } = options;
    // A migration step may change a table that another process is writing to.
    await retryContended(systemClock, () =>
      lastStep === undefined
        ? migrate(opened.db, opened.dialect)
        : migrateUpTo(opened.db, opened.dialect, lastStep),
    );
    return opened;
  } catch (error) {
    await opened.close();
    // On a busy machine the check of a large file ends unfinished.
    throw target.dialect === 'sqlite' ? asDamage(target.file, error) : error;
  }
}

function openSqlite(file: string, logger: Logger, clock: Clock): Database {
  // Opened now rather than at the first query, so that a damaged file stops the boot with its own message.
  const connection = openSqliteFile(file);
  const reserve = new DiskReserve(file);
  let full = false;
  const onFull = (): boolean => {
    full = true;
    const gave = reserve.release();
    if (gave) logger.error({ file, hint: 'The reserve file was released.' }, 'database.disk_full');
    return gave;
  };
  const watch = clock.setInterval(() => {
    if (!reserve.held) reserve.hold();
    if (full && reserve.held) {
      full = false;
      logger.warn({ file }, 'database.disk_recovered');
    }
  }, RESERVE_CHECK_MS);
  const shared = new SharedFile(connection, { clock, onFull });
  const db = new Kysely<Schema>({ dialect: new SqliteDialect(shared) });
  return {
    dialect: 'sqlite',
    db,
    get full() {
      return full;
    },
    async transaction(work) {
      try {
        return await runTransaction(db, work);
      } catch (error) {
        if (classifyFailure(error) === 'full' && onFull()) return runTransaction(db, work);
        throw error;
      }
    },
    together: (read) => read(db),
    revision: () => shared.revision(),
    ...SQLITE_LOCKS,
    // BEGIN IMMEDIATE already holds the only write lock.
    advisoryLock: async () => undefined,
    ping: () => ping(db),
    async close() {
      watch.cancel();
      await db.destroy();
      if (connection.open) connection.close();
    },
  };
}

function openPostgres(url: string, logger: Logger): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_SIZE,
    connectionTimeoutMillis: 5 * SECOND_MS,
    // A new connection must sign in and prepare every statement again.
    idleTimeoutMillis: 5 * MINUTE_MS,
    statement_timeout: STATEMENT_LIMIT_MS,
    idle_in_transaction_session_timeout: 3 * STATEMENT_LIMIT_MS,
    // A half-open connection gives no error, so the client needs its own time limit.
    query_timeout: STATEMENT_LIMIT_MS + 2 * SECOND_MS,
    keepAlive: true,
    application_name: 'footlight',
    // Sends statements without waiting for each answer.
    pipeline: true,
  });
  const lost = (error: Error) => logger.warn({ err: error }, 'database.connection_lost');
  // The pool listens only to idle connections; an error of a used one would end the process.
  pool.on('connect', (client) => client.on('error', lost));
  // The connection itself already reported the error.
  pool.on('error', () => undefined);
  const db = new Kysely<Schema>({
    dialect: new PostgresDialect({
      pool: {
        connect: async () => {
          refuseInsideTransaction();
          return withNames(await pool.connect());
        },
        end: () => pool.end(),
      },
    }),
  });
  return {
    dialect: 'postgres',
    db,
    full: false,
    async transaction(work) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await retryContended(systemClock, () => runTransaction(db, work));
        } catch (error) {
          // A referenced row was deleted concurrently; the next run sees that.
          if (classifyFailure(error) !== 'retry' || isContended(error) || attempt === MISSING_ATTEMPTS)
            throw error;
        }
      }
    },
    together: (read) => db.connection().execute((one) => onOneConnection(one, () => read(one))),
    revision: () => null,
    ...POSTGRES_LOCKS,
    async advisoryLock(tx, name) {
      await sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS[name]})`.execute(tx);
    },
    ping: () => ping(db),
    close: () => db.destroy(),
  };
}

function runTransaction<T>(db: Kysely<Schema>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction().execute((tx) => onOneConnection(tx, () => insideTransaction(() => work(tx))));
}

/** A connection for kysely whose statements have names, so that Postgres parses and plans them once. */
function withNames(client: pg.PoolClient): PostgresPoolClient {
  // Tests run from the sources, where each statement is checked.
  const guard = process.env.NODE_ENV === 'production' ? null : new LockOrderGuard();
  const query = (text: string, values: unknown[]): Promise<unknown> => {
    guard?.saw(text);
    return client.query({ name: statementName(text), text, values });
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release() };
}

async function ping(db: Kysely<Schema>): Promise<void> {
  await sql`select 1`.execute(db);
}
