import type { AppLaunchState } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import { sessionProcesses, startVariable } from '../../runtime/proc-table.ts';
import type { TraceEvents } from '../reports/trace-events.ts';
import { nextLaunchState } from './launch-state.ts';
import type { SessionApp } from './session-app.ts';

export interface LaunchProgressDeps {
  sessionId: string;
  app: Pick<SessionApp, 'appId' | 'tile'>;
  events: TraceEvents;
  /** The session's user; null: the session runs as the agent's user. */
  uid(): number | null;
  /** Whether the running app has drawn its first window. */
  isPresented(): boolean;
  /** Sends the launch state to the viewers. */
  notifyViewers(state: AppLaunchState): void;
}

/**
 * The last known state of an app's start; reports its changes. After a swap, the state begins again for the new app.
 */
export class LaunchProgress {
  readonly #deps: LaunchProgressDeps;
  #last: { appId: string; state: AppLaunchState };

  constructor(deps: LaunchProgressDeps) {
    this.#deps = deps;
    this.#last = { appId: deps.app.appId, state: 'starting' };
  }

  /** Updates the state, and reports a change. For a tile, it scans the host's processes to find the tile's title. */
  current(): AppLaunchState {
    const { app, sessionId, uid, isPresented } = this.#deps;
    const { appId, tile } = app;
    const state = nextLaunchState(this.#last.appId === appId ? this.#last.state : 'starting', {
      presented: isPresented(),
      titleRuns: tile === undefined ? null : runsTitle({ sessionId, uid: uid() }, tile),
    });
    const changed = state !== this.#last.state;
    this.#last = { appId, state };
    if (changed) this.report(state);
    return state;
  }

  report(state: AppLaunchState): void {
    const { tile } = this.#deps.app;
    this.#deps.events.send('app.launch_state', { state, ...(tile && { appid: tile.external_id }) });
    // If the app is not a tile, the viewers are already informed when it has drawn.
    if (tile !== undefined || state === 'game_exited') this.#deps.notifyViewers(state);
  }
}

/**
 * Largest number of processes whose environment is read in one search, because an app may start thousands of processes
 * with large environments.
 */
const MAX_PROCESSES = 512;

/**
 * Whether a session runs a process of a tile's title. Steam sets a variable with the title's id in each game. Other
 * sources do not, so their titles are never found.
 * @param uid null: the session runs as the agent's user
 */
export function runsTitle(
  { sessionId, uid }: { sessionId: string; uid: number | null },
  { source, external_id }: NonNullable<AppSpec['tile']>,
): boolean {
  if (source !== 'steam') return false;
  return sessionProcesses(sessionId, uid)
    .slice(0, MAX_PROCESSES)
    .some(({ pid }) => startVariable(pid, 'SteamAppId') === external_id);
}
