import { AsyncLocalStorage } from 'node:async_hooks';

interface Scope {
  open: boolean;
}

/**
 * Null in the built program: following the scope through every promise of the process takes a tenth of the time of a
 * short request. The tests run from the sources, and there each query is guarded.
 */
const current = process.env.NODE_ENV === 'production' ? null : new AsyncLocalStorage<Scope>();

/** Runs `work` so that `refuseInsideTransaction` throws in everything it calls until it is done. */
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
 * Guards the way to a second connection. On SQLite there is none, and the query would wait for its own transaction
 * for ever; on Postgres it would read past the transaction's own writes.
 */
export function refuseInsideTransaction(): void {
  if (current?.getStore()?.open) {
    throw new Error('a query left its transaction: pass tx down instead of using database.db');
  }
}
