import type { Compilable, Kysely, Transaction } from 'kysely';
import type { Locks } from './locks/locks.ts';
import type { Values } from './query/prepared.ts';
import type { Schema } from './schema.ts';

export type Dialect = 'sqlite' | 'postgres';
export type Tx = Transaction<Schema>;
/** What a store function takes, so that it runs inside a transaction or outside one. */
export type Executor = Kysely<Schema>;

/** Locks that serialise rare work across replicas. The numbers are the Postgres advisory keys. */
export const ADVISORY_LOCKS = {
  admin_claim: 7_301,
  boot: 7_302,
  dispatch: 7_303,
  profiles: 7_304,
  last_admin: 7_305,
} as const;
export type AdvisoryLockName = keyof typeof ADVISORY_LOCKS;

/** The one database of the service, SQLite or Postgres. */
export interface Database extends Locks {
  readonly dialect: Dialect;
  /** For single statements. Inside a transaction use `tx`; this one throws there, because it would wait for itself. */
  readonly db: Kysely<Schema>;
  /** True while the disk is full; then only what frees resources or reports state should write. */
  readonly full: boolean;
  /**
   * Runs `work` in one transaction (SQLite: BEGIN IMMEDIATE, so it holds the write lock from the start; Postgres: read
   * committed). Await nothing in `work` but the database. `work` may run again after a deadlock, so it changes nothing
   * outside the transaction.
   * @throws whatever `work` throws, after the rollback; the driver's error (`isUnavailable`) when the database stayed
   * busy for 5 s or is away, which the HTTP side answers with 503
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs reads on one connection, so that statements that are given together cost one round trip. */
  together<T>(read: (db: Executor) => Promise<T>): Promise<T>;
  /**
   * Makes a query that runs often, outside transactions: its SQL is made once, and so is its plan.
   * @param build sees stand-ins in place of values, so it must not decide anything by one
   */
  prepare<Bound extends Values, Row>(
    build: (db: Kysely<Schema>, values: Bound) => Compilable<Row>,
  ): (values: Bound) => Promise<Row[]>;
  /**
   * Stands for everything that was written so far, by whichever process: while it is the same, whatever was read after
   * it was asked for still holds. null: the database cannot tell for less than what reading costs.
   */
  revision(): number | null;
  /** Holds the named lock until the transaction ends. */
  advisoryLock(tx: Tx, name: AdvisoryLockName): Promise<void>;
  /** Reads one row; rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
