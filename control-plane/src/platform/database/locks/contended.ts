import { type Clock, delay, SECOND_MS } from '@footlight/platform';
import { isContended } from '../engine/failures.ts';

/** Waits before the retries of a transaction that Postgres aborted. */
const WAITS_MS: readonly number[] = [20, 100, SECOND_MS / 4, SECOND_MS, 2 * SECOND_MS];

/**
 * Retries work that ended in a deadlock or serialization failure, a bounded number of times.
 * @param work it must have no effect when it fails
 * @throws other errors at once; a deadlock or serialization failure after the last retry
 */
export async function retryContended<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await work();
    } catch (error) {
      if (!isContended(error)) throw error;
      await delay(clock, waitMs);
    }
  }
  return work();
}
