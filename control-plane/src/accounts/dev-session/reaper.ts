import type { Platform } from '../../platform/platform.ts';
import { listExpiredUsers, removeUser } from '../users/index.ts';

const JOB = 'devauth.reaper';
/** Maximum accounts per sweep. The next sweep retries accounts that could not be deleted. */
const SWEEP_LIMIT = 500;

/**
 * Maps the result of a removal to a counter of the summary. Another sweep may have deleted the account first, so an
 * unknown account counts as deleted.
 */
const COUNTED = {
  removed: 'deleted',
  unknown: 'deleted',
  active_session: 'in_session',
  last_admin: 'failed',
} as const;

/**
 * Deletes expired identities, even if the creation of new ones is switched off. Two kinds stay until a later sweep:
 * identities with a live session, and the last administrator. Their tokens have already expired.
 */
export function registerReaper(platform: Platform): { runNow(): Promise<void> } {
  const { clock, database, jobs, logger } = platform;
  jobs.handle(JOB, {
    async run({ fence, signal }) {
      const counts = { deleted: 0, in_session: 0, failed: 0 };
      for (const id of await listExpiredUsers(database.db, clock.nowMs(), SWEEP_LIMIT)) {
        signal.throwIfAborted();
        const removal = await database.transaction(async (tx) => {
          await fence.check(tx);
          return removeUser(database, tx, id, clock.nowMs());
        });
        counts[COUNTED[removal.kind]] += 1;
      }
      if (counts.deleted > 0) logger.info({ removed: counts.deleted }, 'accounts.dev_identities_reaped');
      return { state: 'succeeded', summary: counts };
    },
  });
  return { runNow: () => jobs.runNow(JOB) };
}
