import type { SelectQueryBuilder } from 'kysely';

/** How a query holds the rows that it reads until the transaction ends. */
export interface Locks {
  /** Adds `for update` on Postgres; SQLite's transaction already holds the only write lock. */
  forUpdate<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /** Adds `for update skip locked` on Postgres. */
  skipLocked<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
  /**
   * Adds `for share` on Postgres: the rows stay as they are until the transaction ends, and others may hold them too.
   */
  forShare<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>;
}

export const SQLITE_LOCKS: Locks = {
  forUpdate: (query) => query,
  skipLocked: (query) => query,
  forShare: (query) => query,
};

export const POSTGRES_LOCKS: Locks = {
  forUpdate: (query) => query.forUpdate(),
  skipLocked: (query) => query.forUpdate().skipLocked(),
  forShare: (query) => query.forShare(),
};
