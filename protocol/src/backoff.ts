/** Largest wait before the second attempt: a restart of the control plane takes about as long. Chosen, not measured. */
export const BACKOFF_MIN_MS = 500;
/** Longest wait between two attempts: a person waits for the picture. Chosen, not measured. */
const BACKOFF_MAX_MS = 4_000;

/**
 * Wait before the next connection attempt of agents and pages: 0.5 s doubling to 4 s, with jitter over its upper
 * half, so that thousands of clients do not return at once. Pure.
 * @param attempt consecutive failures (count), from 0
 * @param random uniform in [0, 1)
 */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(BACKOFF_MIN_MS * 2 ** Math.min(attempt, 10), BACKOFF_MAX_MS);
  return Math.round(full * (0.5 + 0.5 * random));
}
