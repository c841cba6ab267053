import { MINUTE_MS, SECOND_MS } from '@footlight/platform';

const FIRST_WAIT_MS = 5 * SECOND_MS;
const MAX_WAIT_MS = 10 * MINUTE_MS;

/**
 * Wait after a failed attempt: doubled each time, between half of it and all of it. Pure.
 * @param failures failed attempts in a row, at least one
 * @param chance uniform in [0, 1)
 */
export function retryWaitMs(failures: number, chance: number): number {
  const fullMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MAX_WAIT_MS);
  return fullMs * (0.5 + chance / 2);
}
