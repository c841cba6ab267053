import { AsyncLocalStorage } from 'node:async_hooks';

interface Scope {
  open: boolean;
}

/**
 * Null in the built program: tracking the scope through every promise costs a tenth of a short request. Tests run
 * from the sources, where each query is checked.
 */
const current = process.env.NODE_ENV === 'production' ? null : new AsyncLocalStorage<Scope>();

/** Runs `work`; `refuseInsideTransaction` throws in everything that `work` calls. */
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
