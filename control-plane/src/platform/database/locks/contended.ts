import { type Clock, delay, SECOND_MS } from '@footlight/platform';
import { isContended } from '../engine/failures.ts';

/** Runs of work that Postgres ends because of others: the first, and one after each of these waits. */
const WAITS_MS: readonly number[] = [20, 100, SECOND_MS / 4, SECOND_MS, 2 * SECOND_MS];

/**
 * Runs work again that ended in a deadlock or a serialization failure, a bounded number of times.
 * @param work changes nothing when it fails
 * @throws what `work` throws: any other error at once, these after the last run
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
