import { setImmediate } from 'node:timers/promises';

/** Runs work for a key after earlier work for the same key has ended. */
export type KeyedQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Serializes long reads of one account. Other requests run between two of them: SQLite reads block the event loop, so
 * many long reads of one account in a row would delay all other requests.
 */
export function createKeyedQueue(): KeyedQueue {
  /** The last work of each key. The number of open requests bounds the map. */
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key);
    const done = before === undefined ? work() : before.then(() => setImmediate()).then(work);
    // A failure does not block the work that follows.
    const settled = done.catch(() => undefined);
    last.set(key, settled);
    try {
      return await done;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}
