/**
 * Percentile with linear interpolation between the two nearest raw values.
 * @param sorted ascending
 * @param share 0–1
 * @returns null: there are no values
 */
export function percentile(sorted: readonly number[], share: number): number | null {
  if (sorted.length === 0) return null;
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? 0;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? low;
  return low + (high - low) * (position - below);
}
