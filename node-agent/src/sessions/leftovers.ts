import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { removeDisplayFiles } from '../display/xvfb.ts';
import { type Clock, delay } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import { errorText } from '../platform/text.ts';
import { removeBelongings } from '../runtime/belongings.ts';
import { removeSessionCgroups } from '../runtime/cgroups.ts';
import { sendSignal } from '../runtime/child.ts';
import { sessionProcesses } from '../runtime/proc-table.ts';
import { closeHome } from './home.ts';
import { homesOf, leftSessions, removeSessionDirs, sessionDirs } from './record.ts';

const KILL_ROUNDS = 100;
const KILL_PERIOD_MS = 10;

/**
 * Kills what still runs of a session. Comes back when nothing of it is left, after 1 s at most; then what
 * its user left outside the session's directories goes as well.
 * @param homes stay, wherever they lie
 */
export async function killSessionProcesses(
  sessionId: string,
  { uid, homes }: { uid: number | null; homes: readonly string[] },
  clock: Clock,
): Promise<void> {
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const left = sessionProcesses(sessionId, uid);
    for (const row of left) sendSignal(row.pid, 'SIGKILL');
    if (left.length === 0) break;
    await delay(clock, KILL_PERIOD_MS);
  }
  if (uid !== null) await removeBelongings(uid, homes);
}

/**
 * Takes away what an earlier agent process left when it was killed: processes, displays, control groups,
 * directories. Runs before the first dial, so no session of this process can be among them.
 * @param deps.reclaimConsole gives back what draws on the display beside the host
 */
export async function removeLeftovers(
  stateDir: string,
  deps: { clock: Clock; logger: Logger; ownsUid: (uid: number) => boolean; reclaimConsole: () => void },
): Promise<void> {
  const { clock, logger } = deps;
  for (const { sessionId, record } of await leftSessions(stateDir)) {
    logger.warn({ session_id: sessionId }, 'leftovers.found');
    const dirs = sessionDirs(stateDir, sessionId);
    try {
      // A uid outside our range is somebody else's: the range was changed meanwhile.
      const uid = record?.uid ?? null;
      const homes = record === null ? [] : homesOf(record);
      const tenant = { uid: uid !== null && deps.ownsUid(uid) ? uid : null, homes };
      await killSessionProcesses(sessionId, tenant, clock);
      if (existsSync(dirs.console)) {
        // What draws there has the agent's user, whoever the session's was.
        await killSessionProcesses(sessionId, { uid: null, homes: [] }, clock);
        deps.reclaimConsole();
      }
      if (record?.display) removeDisplayFiles(record.display);
      if (uid !== null) {
        for (const home of homes) await closeHome(home, { uid, gid: uid, groups: [] }).catch(() => undefined);
      }
      removeSessionCgroups(sessionId);
      await removeSessionDirs(dirs);
    } catch (error) {
      logger.error({ session_id: sessionId, error: errorText(error) }, 'leftovers.not_removed');
    }
  }
  rmSync(join(stateDir, 'node.json.tmp'), { force: true });
}
