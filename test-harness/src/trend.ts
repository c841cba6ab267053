/** Detects growth in a series of measurements: ignores noise and finds slow leaks. Pure. */

/**
 * Standard deviations by which rising pairs must outnumber falling pairs. A normal variable exceeds 4 by chance in 3
 * of
 * 100,000 series; a run judges a dozen series.
 */
const CERTAIN = 4;

/**
 * Mann-Kendall trend test with the correction for ties, applied to the growth above the allowed rate. The test compares
 * the order of every two samples and not their distance, so peaks and garbage collections do not count. Rising pairs
 * must also be the majority of all pairs, including ties, because a value that rises and falls again is no leak.
 * @param samples one for each step
 * @param allowedPerStep tolerated growth per step
 */
export function grows(samples: readonly number[], allowedPerStep = 0): boolean {
  const beyond = samples.map((sample, step) => sample - allowedPerStep * step);
  const count = beyond.length;
  let rising = 0;
  let falling = 0;
  for (const [later, newer] of beyond.entries()) {
    for (let earlier = 0; earlier < later; earlier += 1) {
      const older = beyond[earlier] as number;
      if (newer > older) rising += 1;
      if (newer < older) falling += 1;
    }
  }
  const spread = (n: number) => n * (n - 1) * (2 * n + 5);
  const ties = new Map<number, number>();
  for (const sample of beyond) ties.set(sample, (ties.get(sample) ?? 0) + 1);
  let variance = spread(count);
  for (const tied of ties.values()) variance -= spread(tied);
  const excess = rising - falling - 1;
  return excess > 0 && 2 * rising > (count * (count - 1)) / 2 && excess > CERTAIN * Math.sqrt(variance / 18);
}

/**
 * Minimum of each run of `size` samples: the memory after a garbage collection. An incomplete last run is dropped.
 */
export function floors(samples: readonly number[], size: number): number[] {
  return Array.from({ length: Math.floor(samples.length / size) }, (_, block) =>
    Math.min(...samples.slice(block * size, (block + 1) * size)),
  );
}
