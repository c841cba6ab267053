/** Sessions that the service launches for consoles. Source: docs/hosts.md, "A display on the host". */
import { isTerminal, type SessionEndReason } from '@footlight/protocol';
import type { ConsoleSession, ConsoleSessions } from '../fleet/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { sessionSubjects } from '../signaling/index.ts';
import type { Launcher } from './launch/launch.ts';
import { findLaunchUser } from './launch/launch-store.ts';
import type { BookedLaunch, LaunchTerms } from './launch/stages.ts';
import type { SessionRow } from './record.ts';
import { loadNewestConsoleSession } from './store.ts';

export function createConsoleSessions(
  { bus, database }: Pick<Platform, 'bus' | 'database'>,
  deps: {
    launcher: Launcher;
    /** Starts sending the commands of a launched session. @param actorUserId null: the service launched it */
    begin(booked: BookedLaunch, actorUserId: string | null): Promise<unknown>;
    requestStop(id: string, reason: SessionEndReason): Promise<unknown>;
  },
): ConsoleSessions {
  return {
    async newest(hostId) {
      const row = await loadNewestConsoleSession(database.db, hostId);
      return row === undefined ? null : consoleSession(row);
    },

    async launch({ hostId, userId, appId, topology }) {
      const person = await findLaunchUser(database.db, userId);
      if (person === null) throw new ApiError('not_found', { message: 'There is no such account.' });
      const terms: LaunchTerms = {
        topology,
        pin: { host_id: hostId, gpu_index: null },
        skipVramVeto: true,
        bench: null,
      };
      const booked = await deps.launcher.launch(person, { app_id: appId, mic: false }, terms);
      await deps.begin(booked, null);
      return booked.row.id;
    },

    async stop(sessionId, reason) {
      await deps.requestStop(sessionId, reason);
    },

    watch: (sessionId, changed) => bus.subscribe(sessionSubjects.changed, sessionId, changed),
  };
}

function consoleSession({ id, state, created_at, ended_at }: SessionRow): ConsoleSession {
  return {
    id,
    isStopping: state === 'stopping',
    livedMs: isTerminal(state) ? Math.max(0, (ended_at ?? created_at) - created_at) : null,
  };
}
