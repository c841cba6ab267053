import { runWithIndividualRetry } from '../../platform/database/index.ts';
import { joinRows } from '../../platform/database/locks/row-locks.ts';
import { batchWrites } from '../../platform/database/query/batch-writes.ts';
import type { WriteBatch } from '../../platform/queues/write-batch.ts';
import {
  type RegistrationDeps,
  type RegistrationFacts,
  type RegistrationOutcome,
  registerTogether,
  rowsOfRegistration,
} from './registration.ts';

/** Maximum agents that register in one transaction, so that it holds the write lock only briefly. */
const MAX_BATCH = 128;
/**
 * Maximum sessions that these agents list: far below the 32,766 placeholders of SQLite. An agent lists at most a
 * thousand.
 */
const MAX_LISTED = 8_192;

/**
 * Registers agents: those of one turn of the event loop share a transaction and its statements. A failed registration
 * is repeated alone, so it does not fail the others.
 * @param deps read at each registration
 */
export function createRegistrations(
  deps: () => RegistrationDeps,
  batch: WriteBatch,
): (facts: RegistrationFacts) => Promise<RegistrationOutcome> {
  const write = (part: readonly RegistrationFacts[]) =>
    runWithIndividualRetry(part, (some) => {
      const rows = some.map(({ identity, message }) => rowsOfRegistration(identity, message));
      const known = rows.filter((of) => of !== null);
      return batch.run(known.length < rows.length ? null : joinRows(known), (tx) =>
        registerTogether(tx, deps(), some),
      );
    });
  return batchWrites<RegistrationFacts, RegistrationOutcome>(
    async (all) => (await Promise.all(parts(all).map(write))).flat(),
    MAX_BATCH,
  );
}

/**
 * Splits a batch, in order: an enrolling agent registers alone; known agents register together until they list too many
 * sessions.
 */
export function parts(all: readonly RegistrationFacts[]): RegistrationFacts[][] {
  const made: RegistrationFacts[][] = [];
  let open: RegistrationFacts[] | null = null;
  let listed = 0;
  for (const facts of all) {
    const isKnown = facts.identity.kind === 'known';
    const sessions = facts.message.sessions.length;
    if (isKnown && open !== null && listed + sessions <= MAX_LISTED) {
      open.push(facts);
      listed += sessions;
      continue;
    }
    made.push([facts]);
    open = isKnown ? (made.at(-1) ?? null) : null;
    listed = sessions;
  }
  return made;
}
