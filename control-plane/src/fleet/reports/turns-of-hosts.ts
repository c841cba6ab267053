/**
 * Splits a batch into turns in which each host occurs once, so that a turn can share statements, and a later entry of a
 * host sees the effects of its earlier ones. Pure.
 */
export function turnsOfHosts<Item>(all: readonly Item[], hostOf: (item: Item) => string): Item[][] {
  const turns: Item[][] = [];
  const seen = new Map<string, number>();
  for (const item of all) {
    const host = hostOf(item);
    const turn = seen.get(host) ?? 0;
    seen.set(host, turn + 1);
    const others = turns[turn];
    if (others === undefined) turns.push([item]);
    else others.push(item);
  }
  return turns;
}
