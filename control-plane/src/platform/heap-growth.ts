import { setFlagsFromString } from 'node:v8';
import { type Clock, SECOND_MS } from '@footlight/platform';

/** Number of agents from which their garbage costs more memory than its collection costs time. */
const MANY_AGENTS = 2_000;
const CHECK_EVERY_MS = SECOND_MS;

/**
 * Heap growth in percent of the kept objects before a full collection. By default the engine lets a heap of this size
 * grow fourfold: what thousands of agents send at registration survives the short collections and would double the
 * memory of the process. A reconnecting fleet must not wait for collections, and a large fleet must not keep garbage.
 */
export function heapGrowthPercent(agents: number): number {
  return agents >= MANY_AGENTS ? 30 : 150;
}

/**
 * Applies the bound while agents connect and disconnect.
 * @param apply for tests. The engine reads its option at each collection, so it may change while running. Source:
 *   `node --v8-options`, --heap-growing-percent
 */
export function boundHeapGrowth(
  agents: () => number,
  clock: Pick<Clock, 'setInterval'>,
  apply = (percent: number) => setFlagsFromString(`--heap-growing-percent=${percent}`),
): void {
  let applied: number | null = null;
  const look = () => {
    const percent = heapGrowthPercent(agents());
    if (percent === applied) return;
    applied = percent;
    apply(percent);
  };
  look();
  clock.setInterval(look, CHECK_EVERY_MS);
}
