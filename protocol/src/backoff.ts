/**
 * Longest wait before the second attempt. A restart of the control plane takes about this time. Chosen, not measured.
 */
export const BACKOFF_MIN_MS = 500;
/** Longest wait between two attempts. It is short, because a person waits for the picture. Chosen, not measured. */
const BACKOFF_MAX_MS = 4_000;

/**
 * Wait before the next connection attempt of agents and pages: 0.5 s, doubling up to 4 s. The upper half of the wait is
 * random, so that thousands of clients do not reconnect at the same time. Pure.
 * @param attempt number of consecutive failures, from 0
 * @param random uniform in [0, 1)
 */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(BACKOFF_MIN_MS * 2 ** Math.min(attempt, 10), BACKOFF_MAX_MS);
  return Math.round(full * (0.5 + 0.5 * random));
}
