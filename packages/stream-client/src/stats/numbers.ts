/** Small statistics over raw values. Pure. */

/**
 * Percentile by linear interpolation.
 * @param values any order; not changed
 * @param fraction 0–1
 * @returns null without values
 */
export function percentile(values: readonly number[], fraction: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)] ?? 0;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}

export function median(values: readonly number[]): number | null {
  return percentile(values, 0.5);
}

/** Standard deviation of the whole population; null without values. */
export function deviation(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
