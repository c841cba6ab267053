import type { Clock } from '@footlight/platform';
import { BatchQueue } from '../../queues/batch-queue.ts';

/** Maximum look-ups per query. */
const MAX_KEYS = 256;
/** A query that takes longer probably waits for the database. Later look-ups then start without waiting for it. */
export const MAX_WAIT_MS = 5;

interface LookUp<Key, Value> {
  key: Key;
  resolve(value: Value | undefined): void;
  reject(error: unknown): void;
}

/**
 * Batches concurrent look-ups by key into one query. A query starts after the calls of all its callers, so each caller
 * sees everything that was committed before its call.
 * @param load values by key; unknown keys are missing
 */
export function batchReads<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  options: { schedule?: (begin: () => void) => void; clock?: Clock } = {},
): (key: Key) => Promise<Value | undefined> {
  const queue = new BatchQueue<LookUp<Key, Value>>(
    async (lookUps) => {
      try {
        const found = await load([...new Set(lookUps.map(({ key }) => key))]);
        for (const { key, resolve } of lookUps) resolve(found.get(key));
      } catch (error) {
        for (const { reject } of lookUps) reject(error);
      }
    },
    { max: MAX_KEYS, maxWaitMs: MAX_WAIT_MS, ...options },
  );
  return (key) => new Promise((resolve, reject) => queue.add({ key, resolve, reject }));
}

/** The same as batchReads, for a read without a key. */
export function coalesceReads<Value>(load: () => Promise<Value>): () => Promise<Value> {
  const read = batchReads(async () => new Map([[null, await load()]]), {
    schedule: (begin) => process.nextTick(begin),
  });
  return async () => (await read(null)) as Value;
}
