/** Most keys of one query. */
const MAX_KEYS = 32;

/**
 * Answers look-ups by key that are asked for in one turn of the event loop by one query: under load a query for each
 * would cost more than everything else that a request needs. A read begins only after whoever asked for it, so it
 * sees whatever was committed before.
 * @param load what the keys name; keys of nothing are missing
 */
export function readTogether<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let gathering: { keys: Set<Key>; answer: Promise<ReadonlyMap<Key, Value>> } | null = null;

  function gather(): NonNullable<typeof gathering> {
    const keys = new Set<Key>();
    const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (gathering?.keys === keys) gathering = null;
      return load([...keys]);
    });
    gathering = { keys, answer };
    return gathering;
  }

  return async (key) => {
    const batch = gathering !== null && gathering.keys.size < MAX_KEYS ? gathering : gather();
    batch.keys.add(key);
    return (await batch.answer).get(key);
  };
}

/** Same for a read without a key, among those whose turn has come at the same time. */
export function readOnce<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let next: Promise<Value> | null = null;
  return () => {
    next ??= new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
      next = null;
      return load();
    });
    return next;
  };
}
