import { type Clock, delay } from '@footlight/platform';
import type BetterSqlite3 from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { refuseInsideTransaction } from '../query/scope.ts';
import { classifyFailure } from './failures.ts';
import { TransactionOver } from './transaction-over.ts';

/** SQLite's own wait for a lock; it blocks the event loop. */
export const BUSY_WAIT_MS = 250;
/** Time limit of the retries that do not block the event loop. */
export const BUSY_LIMIT_MS = 5_000;
/** Gives a hundred retries within the limit; the exact value does not matter. */
const RETRY_EVERY_MS = 50;
/** Time after a busy answer in which SQLite's own wait is off. */
const CONTENTION_MEMORY_MS = 1_000;
const MAX_STATEMENTS = 500;

interface Options {
  clock: Clock;
  /**
   * Called when a write fails because the disk is full. Returns true if space was freed and the write may be retried.
   */
  onFull: () => boolean;
}

/**
 * SQLite for kysely: one connection with a FIFO queue, BEGIN IMMEDIATE, and a wait for locks of other processes that
 * does not block the event loop.
 */
export class SqliteDialect implements Dialect {
  readonly #file: SharedFile;

  constructor(file: SharedFile) {
    this.#file = file;
  }

  createDriver(): Driver {
    return new SqliteDriver(this.#file);
  }

  createQueryCompiler(): QueryCompiler {
    return new LocklessCompiler();
  }

  createAdapter(): DialectAdapter {
    return new TransactionalSqliteAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

/**
 * Compiles queries without row locks. SQLite has none and needs none, because its transaction has the only write lock.
 */
class LocklessCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === 'Distinct') super.visitSelectModifier(node);
  }
}

/**
 * Settings for kysely's migrator: SQLite can roll back DDL, so a migration is atomic, and BEGIN IMMEDIATE is the lock
 * between processes.
 */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class SqliteDriver implements Driver {
  readonly #file: SharedFile;

  constructor(file: SharedFile) {
    this.#file = file;
  }

  async init(): Promise<void> {
    // The file is open already.
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    refuseInsideTransaction();
    return new SqliteHandle(this.#file);
  }

  async releaseConnection(): Promise<void> {
    // Nothing to release: a handle has no resources outside a transaction.
  }

  beginTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as SqliteHandle).begin();
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as SqliteHandle).end('commit');
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as SqliteHandle).end('rollback');
  }

  async destroy(): Promise<void> {
    this.#file.close();
  }
}

/**
 * A connection for kysely. Outside a transaction the handle acquires the file for each single statement. In a
 * transaction it keeps the file, so that statements of others do not interleave.
 */
class SqliteHandle implements DatabaseConnection {
  readonly #file: SharedFile;
  #owns = false;
  /**
   * Whether this handle's transaction has ended. Statements that are still queued are then refused, because each would
   * be a transaction of its own.
   */
  #isOver = false;

  constructor(file: SharedFile) {
    this.#file = file;
  }

  async begin(): Promise<void> {
    await this.#file.withFile(() => this.#file.run('begin immediate'), true);
    this.#owns = true;
    this.#isOver = false;
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    try {
      // SQLite ends a transaction by itself after some errors, for example a full disk.
      if (how === 'commit' || this.#file.inTransaction) this.#file.run(how);
    } catch (error) {
      // A failed commit leaves the transaction open; kysely rolls it back next.
      if (how === 'commit') throw error;
    }
    this.#owns = false;
    this.#isOver = true;
    this.#file.release();
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { sql, parameters } = query;
    if (this.#isOver) throw new TransactionOver();
    if (this.#owns) return this.#file.execute<R>(sql, parameters);
    return this.#file.withFile(() => this.#file.execute<R>(sql, parameters), false);
  }

  // biome-ignore lint/correctness/useYield: kysely asks for the method; nothing here streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('queries are not streamed');
  }
}

interface Prepared {
  readonly statement: BetterSqlite3.Statement;
  /** Column names of the result in order; null: the statement returns no rows. */
  readonly columns: readonly string[] | null;
}

const CHANGES_SCHEMA = /^\s*(alter|create|drop)\b/i;

/** The driver returns rows as arrays; naming the values here is much faster than in the driver. */
function toRows<R>(columns: readonly string[], lists: readonly unknown[][]): R[] {
  return lists.map((values) => {
    const row: Record<string, unknown> = {};
    for (let n = 0; n < columns.length; n++) row[columns[n] as string] = values[n];
    return row as R;
  });
}

/** The only connection to the file, with its queue. */
export class SharedFile {
  readonly #database: BetterSqlite3.Database;
  readonly #clock: Clock;
  readonly #onFull: () => boolean;
  readonly #statements = new LRUCache<string, Prepared>({ max: MAX_STATEMENTS });
  readonly #waiting: (() => void)[] = [];
  #isHeld = false;
  /** false while another process has the lock, because one blocking wait is enough. */
  #hasBusyWait = true;
  #lastBusyMs = Number.NEGATIVE_INFINITY;

  constructor(database: BetterSqlite3.Database, options: Options) {
    this.#database = database;
    this.#clock = options.clock;
    this.#onFull = options.onFull;
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction;
  }

  run(sql: string): void {
    this.#prepared(sql).statement.run();
  }

  execute<R>(sql: string, parameters: readonly unknown[]): QueryResult<R> {
    const { statement, columns } = this.#prepared(sql);
    if (columns !== null) return { rows: toRows<R>(columns, statement.all(...parameters) as unknown[][]) };
    const { changes, lastInsertRowid } = statement.run(...parameters);
    // A schema change can change the columns of `*` and the use of indexes.
    if (CHANGES_SCHEMA.test(sql)) this.#statements.clear();
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  /**
   * Acquires the file, attempts the work, and releases the file (unless the work succeeds with `keep`). While another
   * process holds the lock, the file is released between attempts, so that reads can run.
   */
  async withFile<T>(attempt: () => T, keep: boolean): Promise<T> {
    let busySinceMs: number | null = null;
    let madeRoom = false;
    for (;;) {
      await this.#acquire();
      let kept = false;
      try {
        this.#setBusyWait(this.#clock.monotonicMs() - this.#lastBusyMs > CONTENTION_MEMORY_MS);
        const result = attempt();
        kept = keep;
        return result;
      } catch (error) {
        const failure = classifyFailure(error);
        const nowMs = this.#clock.monotonicMs();
        if (failure === 'full' && !madeRoom && this.#onFull()) {
          madeRoom = true;
        } else {
          busySinceMs ??= nowMs;
          if (failure !== 'busy' || nowMs - busySinceMs >= BUSY_LIMIT_MS) throw error;
          this.#lastBusyMs = nowMs;
        }
      } finally {
        if (!kept) this.release();
      }
      await delay(this.#clock, RETRY_EVERY_MS);
    }
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isHeld = false;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  async #acquire(): Promise<void> {
    if (this.#isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isHeld = true;
  }

  #prepared(sql: string): Prepared {
    let prepared = this.#statements.get(sql);
    if (!prepared) {
      const statement = this.#database.prepare(sql);
      const columns = statement.reader ? statement.columns().map(({ name }) => name) : null;
      prepared = { statement: columns === null ? statement : statement.raw(true), columns };
      this.#statements.set(sql, prepared);
    }
    return prepared;
  }

  #setBusyWait(wait: boolean): void {
    if (this.#hasBusyWait === wait) return;
    this.#hasBusyWait = wait;
    this.#database.pragma(`busy_timeout = ${wait ? BUSY_WAIT_MS : 0}`);
  }
}
