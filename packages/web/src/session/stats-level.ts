/** How much of the statistics is shown on the picture. */
export type StatsLevel = 'dot' | 'line' | 'graphs';

const ORDER: readonly StatsLevel[] = ['dot', 'line', 'graphs'];

/** The next level, cyclic. */
export function nextLevel(level: StatsLevel): StatsLevel {
  return ORDER[(ORDER.indexOf(level) + 1) % ORDER.length] ?? 'dot';
}
