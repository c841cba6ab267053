import { setFlagsFromString } from 'node:v8';
import { type Clock, SECOND_MS } from '@footlight/platform';

/** From so many on, what agents leave behind weighs more than collecting it costs. */
const MANY_AGENTS = 2_000;
const LOOK_MS = SECOND_MS;

/**
 * How much the heap may grow, in percent of what was kept, before the engine collects all of it. By itself it lets a heap
 * of this size grow fourfold: what thousands of agents say when they come outlives the short collections, and would double
 * the memory of the process. A fleet that comes back is not to wait for collections; a large one is not to keep garbage.
 */
export function heapGrowthPercent(agents: number): number {
  return agents >= MANY_AGENTS ? 30 : 150;
}

/**
 * Holds the engine to that while agents come and go, as long as the process lives.
 * @param apply for tests. The engine reads its option at each collection, so it may change while it runs; source:
 * `node --v8-options`, --heap-growing-percent
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
  clock.setInterval(look, LOOK_MS);
}
