/** The shown part of the statistics over the picture; `dot`: only the dot and the word in the bar. */
export type StatsLevel = 'dot' | 'line' | 'graph' | 'full';

const ORDER: readonly StatsLevel[] = ['dot', 'line', 'graph', 'full'];

/** The next level; after the last level the first. */
export function nextLevel(level: StatsLevel): StatsLevel {
  return ORDER[(ORDER.indexOf(level) + 1) % ORDER.length] ?? 'dot';
}
