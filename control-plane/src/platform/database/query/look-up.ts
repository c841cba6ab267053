import { type Clock, delay, SECOND_MS } from '@footlight/platform';
import type { Database, Tx } from '../database.ts';
import { isDown, isUnanswered } from '../engine/failures.ts';

/** How long a database that was lost over a COMMIT is waited for, and how often it is asked. */
const LOOK_UP_LIMIT_MS = 5 * SECOND_MS;
const LOOK_UP_EVERY_MS = SECOND_MS / 4;

/**
 * Runs a transaction on which something outside the database depends. Where the answer to its COMMIT is lost, what
 * became of it is looked up: a caller told to retry would do it twice, and what follows it would never begin.
 * @param isStored whether what `work` returned is there. It waits for a row that `work` holds: the transaction may
 * still be under way
 * @throws as `transaction` does; the database's error as well where it stays away, and then all of it may be stored
 */
export async function transactionLookedUp<T>(
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
    if (unanswered === undefined || !isUnanswered(error)) throw error;
    const { result } = unanswered;
    if (await patiently(clock, () => database.transaction((tx) => isStored(tx, result)))) return result;
    throw error;
  }
}

async function patiently<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  const untilMs = clock.monotonicMs() + LOOK_UP_LIMIT_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isDown(error) || clock.monotonicMs() >= untilMs) throw error;
      await delay(clock, LOOK_UP_EVERY_MS);
    }
  }
}
