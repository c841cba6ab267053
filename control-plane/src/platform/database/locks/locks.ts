import type { SelectQueryBuilder } from 'kysely';

/**
 * How a query locks the rows that it reads until the transaction ends. SQLite adds nothing: its transaction holds the
 * only write lock. docs/database.md has the order in which tables are locked.
 */
export interface Locks {
  /**
   * Adds `for no key update` on Postgres: others neither change nor delete these rows, but may insert rows that refer
   * to them. The usual lock: `for update` would also stop each insert and many updates of referring rows, whose foreign
   * keys take `for key share` on the row that they refer to, in any order of tables.
   */
  forNoKeyUpdate<DB, TB extends keyof DB, O>(
    query: SelectQueryBuilder<DB, TB, O>,
  ): SelectQueryBuilder<DB, TB, O>;
  /**
   * Adds `for update` on Postgres: nobody begins to refer to these rows either. Before a check whether anybody does,
   * and a delete. Lock the rows that refer to them first.
   */
  forRemoval<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /** Adds `for no key update skip locked` on Postgres: waits for nobody, so it may come in any order. */
  skipLocked<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /**
   * Adds `for share` on Postgres: the rows stay as they are until the transaction ends, and others may hold them too.
   */
  forShare<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /** Adds `for key share` on Postgres: the rows are not deleted until the transaction ends. */
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
