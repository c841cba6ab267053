/** Counts concurrent work by key and in total. A key exists only while its count is above zero. */
export interface KeyedCount {
  readonly total: number;
  of(key: string): number;
  /** Adds one to the count of the key. @returns a function that subtracts it again; a second call does nothing */
  begin(key: string): () => void;
}

export function createKeyedCount(): KeyedCount {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    get total() {
      return total;
    },
    of: (key) => counts.get(key) ?? 0,
    begin(key) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      total += 1;
      let open = true;
      return () => {
        if (!open) return;
        open = false;
        total -= 1;
        const remaining = (counts.get(key) ?? 1) - 1;
        if (remaining === 0) counts.delete(key);
        else counts.set(key, remaining);
      };
    },
  };
}
