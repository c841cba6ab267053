import { systemClock } from '@footlight/platform';

/** Most keys of one query. */
const MAX_KEYS = 256;
/** Look-ups collect this long behind a running query; a slower query is not waited for. */
const PATIENCE_MS = 5;

interface Waiter<Value> {
  resolve(value: Value | undefined): void;
  reject(error: unknown): void;
}

/**
 * Batches concurrent look-ups by key into one query: under load a query for each would cost more than the rest of a
 * request. A read starts after all its callers asked, so it sees everything committed before.
 * @param load values by key; unknown keys are missing
 * @param soon calls back when the current callers have asked; missing: after all readable sockets of this turn
 */
export function readTogether<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  soon: (begin: () => void) => void = setImmediate,
): (key: Key) => Promise<Value | undefined> {
  const waiting = new Map<Key, Waiter<Value>[]>();
  let busy = false;
  let announced = false;

  function begin(): void {
    announced = false;
    if (waiting.size > 0 && !busy) void run(take());
  }

  function take(): Map<Key, Waiter<Value>[]> {
    const batch = new Map<Key, Waiter<Value>[]>();
    for (const [key, waiters] of waiting) {
      if (batch.size === MAX_KEYS) break;
      batch.set(key, waiters);
      waiting.delete(key);
    }
    return batch;
  }

  async function run(batch: ReadonlyMap<Key, Waiter<Value>[]>): Promise<void> {
    let waitedFor = true;
    busy = true;
    const goOn = (): void => {
      if (!waitedFor) return;
      waitedFor = false;
      busy = false;
      begin();
    };
    const patience = systemClock.setTimeout(goOn, PATIENCE_MS);
    try {
      const found = await load([...batch.keys()]);
      for (const [key, waiters] of batch) for (const { resolve } of waiters) resolve(found.get(key));
    } catch (error) {
      for (const waiters of batch.values()) for (const { reject } of waiters) reject(error);
    }
    patience.cancel();
    goOn();
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const waiters = waiting.get(key);
      if (waiters) waiters.push({ resolve, reject });
      else waiting.set(key, [{ resolve, reject }]);
      if (announced) return;
      announced = true;
      soon(begin);
    });
}

/** The same for a read without a key. */
export function readOnce<Value>(load: () => Promise<Value>): () => Promise<Value> {
  const read = readTogether(
    async (keys: readonly null[]) => {
      const value = await load();
      return new Map(keys.map((key) => [key, value]));
    },
    (begin) => process.nextTick(begin),
  );
  return async () => (await read(null)) as Value;
}
