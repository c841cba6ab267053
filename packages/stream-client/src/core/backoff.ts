/** How long to wait before the next attempt to reach the service. */

const STEPS_MS = [500, 1_000, 2_000, 4_000] as const;

/**
 * Wait before attempt n, spread so that a thousand pages do not return in one instant.
 * @param attempt attempts so far without success, from 0
 * @param random 0 ≤ x < 1
 * @returns 0.5, 1, 2, then 4 s, times 0.5…1
 */
export function backoffMs(attempt: number, random: number): number {
  const step = STEPS_MS[Math.min(Math.max(attempt, 0), STEPS_MS.length - 1)] ?? 4_000;
  return Math.round(step * (0.5 + random / 2));
}
