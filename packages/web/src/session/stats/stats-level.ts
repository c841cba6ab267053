/** How much of the statistics is shown on the picture; `dot` is the bar's own dot and word. */
export type StatsLevel = 'dot' | 'line' | 'graph' | 'full';

const ORDER: readonly StatsLevel[] = ['dot', 'line', 'graph', 'full'];

/** The next level, cyclic. */
export function nextLevel(level: StatsLevel): StatsLevel {
  return ORDER[(ORDER.indexOf(level) + 1) % ORDER.length] ?? 'dot';
}
