/** Sessions that the service launches for consoles. Source: docs/console.md. */
import type { ConsoleSession, ConsoleSessions } from '../fleet/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { changedSubject } from '../signaling/index.ts';
import type { Terms } from './launch/admission.ts';
import type { Launched, Launches } from './launch/launch.ts';
import { findLauncher } from './launch/launch-store.ts';
import { isTerminal } from './life/state.ts';
import type { SessionRow } from './record.ts';
import { loadNewestBesideHost } from './store.ts';

export function createConsoleSessions(
  { bus, database }: Pick<Platform, 'bus' | 'database'>,
  deps: {
    launcher: Launches;
    /** Starts the commands of a launched session. @param actorUserId null: the service launched it */
    begin(launched: Launched, actorUserId: string | null): Promise<unknown>;
    requestStop(id: string, reason: string): Promise<unknown>;
  },
): ConsoleSessions {
  return {
    async newest(hostId) {
      const row = await loadNewestBesideHost(database.db, hostId);
      return row === undefined ? null : besideHost(row);
    },

    async launch({ hostId, userId, appId, topology }) {
      const person = await findLauncher(database.db, userId);
      if (person === null) throw new ApiError('not_found', { message: 'There is no such account.' });
      const terms: Terms = { topology, pin: { host_id: hostId, gpu_index: null }, skipVramVeto: true };
      const launched = await deps.launcher.launch(person, { app_id: appId, mic: false }, terms);
      await deps.begin(launched, null);
      return launched.row.id;
    },

    async stop(sessionId, reason) {
      await deps.requestStop(sessionId, reason);
    },

    watch: (sessionId, changed) => bus.subscribe(changedSubject(sessionId), changed),
  };
}

function besideHost({ id, state, created_at, ended_at }: SessionRow): ConsoleSession {
  return {
    id,
    isStopping: state === 'stopping',
    livedMs: isTerminal(state) ? Math.max(0, (ended_at ?? created_at) - created_at) : null,
  };
}
