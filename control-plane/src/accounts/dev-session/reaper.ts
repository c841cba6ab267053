import { MINUTE_MS } from '@footlight/platform';
import type { Platform } from '../../platform/platform.ts';
import { listExpiredUsers, removeUser } from '../users/index.ts';

const TASK = 'devauth.reaper';
/** Accounts of one sweep; those that stay for now are looked at again by the next one. */
const SWEEP_LIMIT = 500;

/**
 * Deletes identities whose time is over, whether or not new ones can be made here. One that has a session running, or
 * is the last administrator, is left for a later sweep; its token is dead either way.
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
