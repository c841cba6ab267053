import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Logger } from '@footlight/platform';
import { errorText, within } from '@footlight/platform';
import { removeDisplayFiles } from '../../display/display-number.ts';
import { withPatience } from '../../patience.ts';
import { removeSessionCgroups } from '../../runtime/cgroups.ts';
import { unmountLeft } from '../home/base/overlay.ts';
import { closeHome } from '../home/home.ts';
import { endProcesses, type Quarantine, type SessionOwnership } from './quarantine.ts';
import {
  homesOf,
  leftSessions,
  removeSessionDirs,
  type SessionRecord,
  sessionDirs,
  sessionsDir,
} from './record.ts';
import type { UidPool } from './uid-pool.ts';
import type { UidSweep } from './uid-sweep.ts';

/**
 * Longest time that a starting agent waits for the cleanup. The wait is limited, because an app may have left millions
 * of files.
 */
export const LEFTOVERS_WAIT_MS = withPatience(5_000);

interface LeftoversDeps {
  clock: Clock;
  logger: Logger;
  quarantine: Quarantine;
  sweep: UidSweep;
  /** Uid range of this agent. */
  uids: UidPool;
  /**
   * Locks user and homes of a session, so that no other session gets them before the cleanup ends. Returns a function
   * that releases them.
   */
  take: (ownership: SessionOwnership) => (keepUid: boolean) => void;
  /** Releases the console. */
  reclaimConsole: () => void;
}

/**
 * Removes leftovers of a killed agent process: processes, displays, control groups, directories. Runs before the first
 * connection, so it cannot affect a session of this process. After 5 s the cleanup continues in the background.
 */
export async function removeLeftovers(stateDir: string, deps: LeftoversDeps): Promise<void> {
  const left = (await leftSessions(stateDir)).map(({ sessionId, record }) => {
    deps.logger.warn({ session_id: sessionId }, 'leftovers.found');
    const uid = record?.uid ?? null;
    const homes = record === null ? [] : homesOf(record);
    // A uid outside of the range does not belong to this agent any more, because the range was changed.
    const ownUid = uid !== null && deps.uids.contains(uid) ? uid : null;
    const ownership: SessionOwnership = { sessionId, uid: ownUid, homes };
    return { ownership, record, giveBack: deps.take(ownership) };
  });
  const removal = (async () => {
    for (const { ownership, record, giveBack } of left)
      await removeSession(stateDir, ownership, record, giveBack, deps);
  })();
  await within(deps.clock, LEFTOVERS_WAIT_MS, removal, undefined);
  rmSync(join(stateDir, 'node.json.tmp'), { force: true });
}

/** Removes the leftovers of one session. Never throws. */
async function removeSession(
  stateDir: string,
  ownership: SessionOwnership,
  record: SessionRecord | null,
  giveBack: (keepUid: boolean) => void,
  { clock, logger, quarantine, sweep, uids, reclaimConsole }: LeftoversDeps,
): Promise<void> {
  const { sessionId, uid: ownUid, homes } = ownership;
  const dirs = sessionDirs(stateDir, sessionId);
  const uid = record?.uid ?? null;
  let isClean = ownUid === null;
  const free = async () => {
    if (existsSync(dirs.console)) {
      // Searched again without a uid, because the program that draws on the console runs as the agent's user.
      await endProcesses({ sessionId, uid: null, homes: [] }, clock);
      reclaimConsole();
    }
    // Before files are removed, which could otherwise be files of a mounted home.
    await unmountLeft(dirs.mounts, homes);
    if (ownUid !== null) {
      const places = () => ({ keep: homes, others: [sessionsDir(stateDir)] });
      isClean = await sweep.sweep(ownUid, places, async () => {
        await removeSessionDirs(dirs);
        uids.release(ownUid);
      });
    }
    if (record?.display) await removeDisplayFiles(record.display);
    if (uid !== null) {
      for (const home of homes) await closeHome(home, { uid, gid: uid, groups: [] }).catch(() => undefined);
    }
    removeSessionCgroups(sessionId);
    await removeSessionDirs(dirs, !isClean);
  };
  try {
    await quarantine.release(ownership, () => free().finally(() => giveBack(!isClean)));
  } catch (error) {
    logger.error({ session_id: sessionId, error: errorText(error) }, 'leftovers.not_removed');
  }
}
