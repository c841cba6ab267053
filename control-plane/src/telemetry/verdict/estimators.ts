/** Computes one value from the points of a series. Pure. */
import { percentile } from '@footlight/platform';
import type { Estimator } from '@footlight/protocol/rest';

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
const greatest = (values: readonly number[]): number | null =>
  values.reduce<number | null>((most, value) => Math.max(most ?? value, value), null);

const ESTIMATORS: Record<Estimator, (values: readonly number[], atLeast: number) => number | null> = {
  p10: (values) => percentile(sorted(values), 0.1),
  p95: (values) => percentile(sorted(values), 0.95),
  max: greatest,
  delta: sumOfRises,
  mean: (values) =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length,
  any: (values) => (values.length === 0 ? null : Number(values.some((value) => value !== 0))),
  count_ge_threshold: (values, atLeast) =>
    values.length === 0 ? null : values.filter((value) => value >= atLeast).length,
};

/** Sums up only increases, so a counter that restarts at 0 after a reconnect adds nothing. */
function sumOfRises(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  return values.reduce((sum, value, n) => sum + Math.max(0, value - (values[n - 1] ?? value)), 0);
}

/**
 * @param values oldest first
 * @param atLeast limit of count_ge_threshold; other estimators ignore it
 * @returns null when there are too few values: none, or fewer than two for `delta`
 */
export function estimate(
  estimator: Estimator,
  values: readonly number[],
  atLeast = Number.NaN,
): number | null {
  return ESTIMATORS[estimator](values, atLeast);
}
