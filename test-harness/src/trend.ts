/** Whether a series of measurements grows, judged so that noise does not count and a slow leak does. Pure. */

/**
 * Standard deviations by which rising pairs must outnumber falling ones. Chance alone comes so far in three of 100,000
 * series; a dozen series are judged in a run.
 */
const CERTAIN = 4;

/**
 * Mann-Kendall's test for a trend, with its correction for ties, of what goes beyond the allowed growth. It looks at
 * the order of every two samples and not at their distance, so neither peaks nor the teeth of a collector count. The
 * pairs that rise must also be most of all pairs, ties among them: a value that comes and goes is no leak.
 * @param samples one for each step
 * @param allowedPerStep growth that is none
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

/** The least of each run of `size` samples: what stays after a collector has been there. The rest is left out. */
export function floors(samples: readonly number[], size: number): number[] {
  return Array.from({ length: Math.floor(samples.length / size) }, (_, block) =>
    Math.min(...samples.slice(block * size, (block + 1) * size)),
  );
}
