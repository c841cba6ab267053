import { type Clock, SECOND_MS, systemClock, within } from '@footlight/platform';
import type { Database } from './database.ts';

/** Longest wait for the database. */
const PING_LIMIT_MS = SECOND_MS;

/**
 * Checks whether the database answers a one-row read within a second. Concurrent callers share one read and one
 * connection.
 * @param clock for the time limit; the default is the machine's clock, like for all waits for the database
 */
export function databaseAnswers(
  database: Pick<Database, 'ping'>,
  clock: Clock = systemClock,
): () => Promise<boolean> {
  let inFlight: Promise<boolean> | null = null;
  return () => {
    inFlight ??= database
      .ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        inFlight = null;
      });
    return within(clock, PING_LIMIT_MS, inFlight, false);
  };
}
