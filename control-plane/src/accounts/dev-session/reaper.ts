import { MINUTE_MS } from '@footlight/platform';
import type { Platform } from '../../platform/platform.ts';
import { listExpiredUsers, removeUser } from '../users/index.ts';

const TASK = 'devauth.reaper';
/** Accounts of one sweep; accounts that must stay are checked again by the next one. */
const SWEEP_LIMIT = 500;

/**
 * Deletes expired identities, also where new ones are switched off. An identity with a live session, and the last
 * administrator, are left for a later sweep; their tokens are dead.
 */
export function registerReaper(platform: Platform): { runNow(): Promise<void> } {
  const { clock, database, leader, logger } = platform;
  leader.register({
    id: TASK,
    everyMs: MINUTE_MS,
    async run(fence) {
      let removed = 0;
      for (const id of await listExpiredUsers(database.db, clock.nowMs(), SWEEP_LIMIT)) {
        const removal = await database.transaction(async (tx) => {
          await fence.check(tx);
          return removeUser(database, tx, id, clock.nowMs());
        });
        if (removal.kind === 'removed') removed += 1;
      }
      if (removed > 0) logger.info({ removed }, 'accounts.dev_identities_reaped');
    },
  });
  return { runNow: () => leader.runNow(TASK) };
}
