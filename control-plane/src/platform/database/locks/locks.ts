import type { SelectQueryBuilder } from 'kysely';

/**
 * Row locks of queries, held until the transaction ends. SQLite needs none: its transaction holds the only write
 * lock. docs/database.md has the lock order.
 */
export interface Locks {
  /**
   * Adds `for no key update` on Postgres: other transactions cannot change or delete these rows, but can insert rows
   * that refer to them. The usual lock. `for update` would also block inserts and many updates of referring rows,
   * because their foreign keys take `for key share`.
   */
  forNoKeyUpdate<DB, TB extends keyof DB, O>(
    query: SelectQueryBuilder<DB, TB, O>,
  ): SelectQueryBuilder<DB, TB, O>;
  /**
   * Adds `for update` on Postgres: no new row can refer to these rows either. Use it before a check for references
   * and a delete. Lock the referring rows first.
   */
  forRemoval<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /** Adds `for no key update skip locked` on Postgres: never waits, so it may appear anywhere in the order. */
  skipLocked<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /**
   * Adds `for share` on Postgres: the rows cannot change until the transaction ends; several transactions can hold
   * this lock.
   */
  forShare<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /** Adds `for key share` on Postgres: the rows cannot be deleted until the transaction ends. */
  forKeyShare<DB, TB extends keyof DB, O>(
    query: SelectQueryBuilder<DB, TB, O>,
  ): SelectQueryBuilder<DB, TB, O>;
}

export const SQLITE_LOCKS: Locks = {
  forNoKeyUpdate: (query) => query,
  forRemoval: (query) => query,
  skipLocked: (query) => query,
  forShare: (query) => query,
  forKeyShare: (query) => query,
};

export const POSTGRES_LOCKS: Locks = {
  forNoKeyUpdate: (query) => query.forNoKeyUpdate(),
  forRemoval: (query) => query.forUpdate(),
  skipLocked: (query) => query.forNoKeyUpdate().skipLocked(),
  forShare: (query) => query.forShare(),
  forKeyShare: (query) => query.forKeyShare(),
};
