/** Most keys of one query. */
const MAX_KEYS = 256;
/** Most queries of one kind under way: behind them look-ups gather, so the more there are, the less each costs. */
const MAX_UNDER_WAY = 2;

interface Waiter<Value> {
  resolve(value: Value | undefined): void;
  reject(error: unknown): void;
}

/**
 * Answers look-ups by key that come together by one query: under load a query for each would cost more than
 * everything else that a request needs. A read begins only after whoever asked for it, so it sees whatever was
 * committed before.
 * @param load what the keys name; keys of nothing are missing
 * @param soon calls back when everybody who asks now has asked; left out: once all sockets of this turn were read
 */
export function readTogether<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  soon: (begin: () => void) => void = setImmediate,
): (key: Key) => Promise<Value | undefined> {
  const waiting = new Map<Key, Waiter<Value>[]>();
  let underWay = 0;
  let announced = false;

  function begin(): void {
    announced = false;
    while (waiting.size > 0 && underWay < MAX_UNDER_WAY) void run(take());
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
    underWay += 1;
    try {
      const found = await load([...batch.keys()]);
      for (const [key, waiters] of batch) for (const { resolve } of waiters) resolve(found.get(key));
    } catch (error) {
      for (const waiters of batch.values()) for (const { reject } of waiters) reject(error);
    }
    underWay -= 1;
    begin();
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

/** Same for a read without a key, among those whose turn has come at the same time. */
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
