import { type Clock, delay, SECOND_MS } from '@footlight/platform';
import type { Database, Tx } from '../database.ts';
import { isDown, isOutcomeUnknown } from '../engine/failures.ts';

/** Time limit and interval of the look-up after a lost answer to COMMIT. */
const VERIFY_LIMIT_MS = 5 * SECOND_MS;
const VERIFY_EVERY_MS = SECOND_MS / 4;

/**
 * Runs a transaction with effects outside the database. If the answer to COMMIT is lost, the function looks up whether
 * the result is stored. A retry would repeat the effect, and without the look-up the later steps would never start.
 * @param isStored returns whether the result of `work` is stored. It must wait for a row that `work` locks, because the
 *   transaction may still be running
 * @throws the errors of `transaction`; also the database's error if the database stays down, and then the result may be
 *   stored or not
 */
export async function verifiedTransaction<T>(
  { database, clock }: { database: Database; clock: Clock },
  work: (tx: Tx) => Promise<T>,
  isStored: (tx: Tx, result: T) => Promise<boolean>,
): Promise<T> {
  const done: { result: T }[] = [];
  try {
    return await database.transaction(async (tx) => {
      done.length = 0;
      const result = await work(tx);
      done.push({ result });
      return result;
    });
  } catch (error) {
    const [unanswered] = done;
    if (unanswered === undefined || !isOutcomeUnknown(error)) throw error;
    const { result } = unanswered;
    if (await retryWhileDown(clock, () => database.transaction((tx) => isStored(tx, result)))) return result;
    throw error;
  }
}

async function retryWhileDown<T>(clock: Clock, run: () => Promise<T>): Promise<T> {
  const untilMs = clock.monotonicMs() + VERIFY_LIMIT_MS;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isDown(error) || clock.monotonicMs() >= untilMs) throw error;
      await delay(clock, VERIFY_EVERY_MS);
    }
  }
}
