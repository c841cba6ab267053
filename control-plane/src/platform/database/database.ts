import type { Kysely, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

export type Dialect = 'sqlite' | 'postgres';
export type Tx = Transaction<Schema>;
/** Argument of store functions: a transaction or the database itself. */
export type Executor = Kysely<Schema>;

/** Locks that serialize rare work across replicas. The numbers are Postgres advisory lock keys. */
export const ADVISORY_LOCKS = {
  admin_claim: 7_301,
  boot: 7_302,
  profiles: 7_304,
  last_admin: 7_305,
  library: 7_306,
} as const;
export type AdvisoryLockName = keyof typeof ADVISORY_LOCKS;

/** The one database of the service, SQLite or Postgres. */
export interface Database {
  readonly dialect: Dialect;
  /**
   * Runs single statements outside transactions. Inside a transaction use `tx`: `db` throws there, because the
   * statement would wait for its own transaction.
   */
  readonly db: Kysely<Schema>;
  /** True while the disk is full; then only writes that free resources or store reported states should run. */
  readonly full: boolean;
  /**
   * Runs `work` in one transaction (SQLite: BEGIN IMMEDIATE, which takes the write lock at the start; Postgres: read
   * committed). `work` must await only the database and have no other effect, because it may be retried after a
   * deadlock.
   * @throws exceptions of `work` after the rollback; the driver's error (`isUnavailable`) when the database was busy
   *   for 5 s or is down, which HTTP answers with 503
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Takes the named lock, before the rows of any table; it is released when the transaction ends. */
  advisoryLock(tx: Tx, name: AdvisoryLockName): Promise<void>;
  /**
   * Number of connections to the server; waiting: callers that wait for a connection. null: SQLite has no connections.
   */
  connections(): { open: number; idle: number; waiting: number } | null;
  /** Reads one row; rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
