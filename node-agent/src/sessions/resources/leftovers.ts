import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Logger } from '@footlight/platform';
import { errorText } from '@footlight/platform';
import { removeDisplayFiles } from '../../display/display-number.ts';
import { removeBelongings } from '../../runtime/belongings.ts';
import { removeSessionCgroups } from '../../runtime/cgroups.ts';
import { closeHome } from './home.ts';
import { endProcesses, type Quarantine, type Tenant } from './quarantine.ts';
import { homesOf, leftSessions, removeSessionDirs, sessionDirs } from './record.ts';

/**
 * Takes away what an earlier agent process left when it was killed: processes, displays, control groups,
 * directories. Runs before the first dial, so no session of this process can be among them.
 * @param deps.take takes user and homes of a session as its own, so that nobody gets them while a process is left;
 * returns what gives them back
 * @param deps.reclaimConsole gives back what draws on the display beside the host
 */
export async function removeLeftovers(
  stateDir: string,
  deps: {
    clock: Clock;
    logger: Logger;
    quarantine: Quarantine;
    ownsUid: (uid: number) => boolean;
    take: (tenant: Tenant) => () => void;
    reclaimConsole: () => void;
  },
): Promise<void> {
  const { clock, logger, quarantine } = deps;
  for (const { sessionId, record } of await leftSessions(stateDir)) {
    logger.warn({ session_id: sessionId }, 'leftovers.found');
    const dirs = sessionDirs(stateDir, sessionId);
    const uid = record?.uid ?? null;
    const homes = record === null ? [] : homesOf(record);
    // A uid outside our range is somebody else's: the range was changed meanwhile.
    const ownUid = uid !== null && deps.ownsUid(uid) ? uid : null;
    const tenant: Tenant = { sessionId, uid: ownUid, homes };
    const giveBack = deps.take(tenant);
    const free = async () => {
      if (existsSync(dirs.console)) {
        // What draws there has the agent's user, not the session's.
        await endProcesses({ sessionId, uid: null, homes: [] }, clock);
        deps.reclaimConsole();
      }
      if (ownUid !== null) await removeBelongings(ownUid, homes, [join(stateDir, 'sessions')]);
      if (record?.display) await removeDisplayFiles(record.display);
      if (uid !== null) {
        for (const home of homes) await closeHome(home, { uid, gid: uid, groups: [] }).catch(() => undefined);
      }
      removeSessionCgroups(sessionId);
      await removeSessionDirs(dirs);
    };
    try {
      await quarantine.release(tenant, () => free().finally(giveBack));
    } catch (error) {
      logger.error({ session_id: sessionId, error: errorText(error) }, 'leftovers.not_removed');
    }
  }
  rmSync(join(stateDir, 'node.json.tmp'), { force: true });
}
