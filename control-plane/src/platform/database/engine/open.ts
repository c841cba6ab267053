import type { Logger } from '@footlight/platform';
import { type Clock, MINUTE_MS, SECOND_MS, systemClock } from '@footlight/platform';
import { Kysely, type KyselyConfig, PostgresDialect, type PostgresPoolClient, sql } from 'kysely';
import pg from 'pg';
import type { Meters } from '../../meters.ts';
import { ADVISORY_LOCKS, type Database, type Tx } from '../database.ts';
import { retryContended } from '../locks/contended.ts';
import { LockOrderGuard } from '../locks/lock-order.ts';
import { migrate, migrateUpTo, pendingSteps } from '../migrate.ts';
import { insideTransaction, refuseInsideTransaction } from '../query/scope.ts';
import type { Schema } from '../schema.ts';
import { classifyFailure, isContended, isOutdatedPlan } from './failures.ts';
import { SharedFile, SqliteDialect } from './sqlite-dialect.ts';
import { asDamage, DiskReserve, openSqliteFile } from './sqlite-file.ts';
import { StatementNames } from './statement-names.ts';
import { TransactionOver } from './transaction-over.ts';

/** Postgres allows 100 connections by default (max_connections), so four control planes fit. */
const POOL_SIZE = 20;
const STATEMENT_LIMIT_MS = 10 * SECOND_MS;
const RESERVE_CHECK_MS = 30 * SECOND_MS;
const MISSING_ATTEMPTS = 4;

// By default the driver returns int8 and numeric (the sum of a bigint) as text. All values here can be represented as a
// double.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

export type DatabaseTarget = { dialect: 'sqlite'; file: string } | { dialect: 'postgres'; url: string };

/**
 * Opens the database and migrates its schema.
 * @param options lastStep: schema of an earlier release, for tests; missing: the newest schema. queried: called after
 *   each statement with its duration in seconds. beforeMigration: called with the steps that an existing database lacks,
 *   before they run; its error stops the migration
 * @throws DamagedDatabase, or the driver's error when the database cannot be reached; nothing stays open
 */
export async function openDatabase(
  target: DatabaseTarget,
  options: {
    logger: Logger;
    clock?: Clock;
    lastStep?: string;
    queried?: Meters['queried'];
    beforeMigration?: (steps: readonly string[]) => Promise<void>;
  },
): Promise<Database> {
  const clock = options.clock ?? systemClock;
  const opened =
    target.dialect === 'sqlite'
      ? openSqlite(target.file, options.logger, clock, options.queried)
      : openPostgres(target.url, options.logger, options.queried);
  try {
    const { lastStep } = options;
    if (opened.dialect === 'postgres') await requireUsual(opened.db);
    if (options.beforeMigration) {
      const steps = await pendingSteps(opened.db, opened.dialect);
      if (steps.length > 0) await options.beforeMigration(steps);
    }
    // A migration step may change a table that another process is writing to.
    await retryContended(systemClock, () =>
      lastStep === undefined
        ? migrate(opened.db, opened.dialect)
        : migrateUpTo(opened.db, opened.dialect, lastStep),
    );
    return opened;
  } catch (error) {
    await opened.close();
    // On a busy machine the check of a large file may not finish, so damage can show up only here.
    throw target.dialect === 'sqlite' ? asDamage(target.file, error) : error;
  }
}

function openSqlite(file: string, logger: Logger, clock: Clock, queried?: Meters['queried']): Database {
  // Open the file now instead of at the first query, so that a damaged file stops the boot with its own message.
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
  const db = new Kysely<Schema>({ dialect: new SqliteDialect(shared), ...timed(queried) });
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
    connections: () => null,
    // No lock is needed: BEGIN IMMEDIATE has already taken the only write lock.
    advisoryLock: async () => undefined,
    ping: () => ping(db),
    async close() {
      watch.cancel();
      await db.destroy();
      if (connection.open) connection.close();
    },
  };
}

function openPostgres(url: string, logger: Logger, queried?: Meters['queried']): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_SIZE,
    connectionTimeoutMillis: 5 * SECOND_MS,
    // Keep idle connections, because a new one must authenticate and plan every statement again.
    idleTimeoutMillis: 5 * MINUTE_MS,
    statement_timeout: STATEMENT_LIMIT_MS,
    // A replica that loses its connection within a transaction keeps its locks this long. Hosts should be on another
    // replica within 20 s.
    idle_in_transaction_session_timeout: STATEMENT_LIMIT_MS,
    // A half-open connection reports no error, so the client needs its own time limit.
    query_timeout: STATEMENT_LIMIT_MS + 2 * SECOND_MS,
    keepAlive: true,
    application_name: 'footlight',
  });
  const names = new StatementNames();
  const lost = (error: Error) => logger.warn({ err: error }, 'database.connection_lost');
  // The pool listens only to idle connections. Without this listener, an error of a connection in use would end the
  // process.
  pool.on('connect', (client) => client.on('error', lost));
  // Ignore the error here: the connection's own listener has already reported it.
  pool.on('error', () => undefined);
  const db = new Kysely<Schema>({
    ...timed(queried),
    dialect: new PostgresDialect({
      pool: {
        connect: async () => {
          refuseInsideTransaction();
          return guarded(await pool.connect(), names);
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
          // The remaining case: a referenced row was deleted concurrently, and the next run sees the deletion.
          if (classifyFailure(error) !== 'retry' || isContended(error) || attempt === MISSING_ATTEMPTS)
            throw error;
        }
      }
    },
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async advisoryLock(tx, name) {
      // The key is part of the text, so that LockOrderGuard can distinguish the locks.
      await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCKS[name])})`.execute(tx);
    },
    ping: () => ping(db),
    close: () => db.destroy(),
  };
}

/** Statements are timed only if metrics are served. */
const timed = (queried: Meters['queried'] | undefined): Pick<KyselyConfig, 'log'> =>
  queried === undefined ? {} : { log: ({ queryDurationMillis }) => queried(queryDurationMillis / 1_000) };

function runTransaction<T>(db: Kysely<Schema>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction().execute((tx) => insideTransaction(() => work(tx)));
}

/**
 * Wraps a connection for kysely.
 *
 * Kysely queues the statements of a transaction. When one fails, it still sends the queued ones, perhaps after the
 * rollback. Each would then be a transaction of its own, so they are refused.
 */
function guarded(client: pg.PoolClient, names: StatementNames): PostgresPoolClient {
  // Tests run from the sources, where each statement is checked.
  const guard = process.env.NODE_ENV === 'production' ? null : new LockOrderGuard();
  let isOver = false;
  const query = async (text: string, values: unknown[]): Promise<unknown> => {
    guard?.saw(text);
    if (text === 'commit' || text === 'rollback') isOver = true;
    // Kysely's migrator ends its transaction before it releases its lock.
    else if (isOver && !text.startsWith('select pg_advisory_unlock')) throw new TransactionOver();
    const name = names.of(text);
    const inTransaction = client.getTransactionStatus() === 'T';
    try {
      return await client.query({ name, text, values });
    } catch (error) {
      if (name === undefined || !isOutdatedPlan(error)) throw error;
      names.renew(text, name);
      // The error aborts a transaction, which then runs again as a whole.
      if (inTransaction) throw error;
      return await client.query({ name: names.of(text), text, values });
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release() };
}

/** @throws with a sentence when Postgres has settings with which it would refuse or change some texts */
async function requireUsual(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ encoding: string; strings: string }>`
    select current_setting('server_encoding') as encoding, current_setting('standard_conforming_strings') as strings
  `.execute(db);
  const { encoding = '', strings = '' } = rows[0] ?? {};
  if (encoding !== 'UTF8')
    throw new Error(
      `The database has the encoding ${encoding}, which cannot keep every text. Make one with: create database … encoding 'UTF8' template template0`,
    );
  if (strings !== 'on')
    throw new Error(
      'The database sets standard_conforming_strings to off, which changes the meaning of texts. Run: alter database … reset standard_conforming_strings',
    );
}

async function ping(db: Kysely<Schema>): Promise<void> {
  await sql`select 1`.execute(db);
}
