import { AsyncLocalStorage } from 'node:async_hooks';

interface Scope {
  open: boolean;
}

/**
 * null in the built program, because tracking the scope through every promise takes a tenth of the time of a short
 * request. Tests run from the sources, where each query is checked.
 */
const current = process.env.NODE_ENV === 'production' ? null : new AsyncLocalStorage<Scope>();

/** Runs `work`; `refuseInsideTransaction` throws in every function that `work` calls. */
export async function insideTransaction<T>(work: () => Promise<T>): Promise<T> {
  if (current === null) return work();
  const scope: Scope = { open: true };
  try {
    return await current.run(scope, work);
  } finally {
    scope.open = false;
  }
}

/**
 * Prevents a second connection inside a transaction. On SQLite the query would wait for its own transaction forever;
 * on Postgres it would miss the transaction's writes.
 */
export function refuseInsideTransaction(): void {
  if (current?.getStore()?.open) {
    throw new Error('a query left its transaction: pass tx down instead of using database.db');
  }
}
