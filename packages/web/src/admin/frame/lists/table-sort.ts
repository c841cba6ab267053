/** A row's value in a column; null is last in both directions. */
export type SortValue = string | number | null;

/** Sorts text as people do: "gpu-2" before "gpu-10". */
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** Sorts rows by a value; null is last in both directions. Pure. */
export function sortedBy<Row>(
  rows: readonly Row[],
  valueIn: (row: Row) => SortValue,
  reverse: boolean,
): readonly Row[] {
  const direction = reverse ? -1 : 1;
  return [...rows].sort((one, other) => {
    const a = valueIn(one);
    const b = valueIn(other);
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order =
      typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
    return direction * order;
  });
}

/** Key and direction of the order in a URL. */
export function readSort(sort = ''): { key: string; reverse: boolean } {
  return sort.startsWith('-') ? { key: sort.slice(1), reverse: true } : { key: sort, reverse: false };
}

/** The order after a click on a column's head: ascending, then descending, then the server's order. */
export function nextSort(sort: string | undefined, key: string): string | undefined {
  const now = readSort(sort);
  if (now.key !== key) return key;
  return now.reverse ? undefined : `-${key}`;
}
