/** How much of the statistics is shown over the picture; `dot` is only the bar's dot and word. */
export type StatsLevel = 'dot' | 'line' | 'graph' | 'full';

const ORDER: readonly StatsLevel[] = ['dot', 'line', 'graph', 'full'];

/** The next level, cyclic. */
export function nextLevel(level: StatsLevel): StatsLevel {
  return ORDER[(ORDER.indexOf(level) + 1) % ORDER.length] ?? 'dot';
}
