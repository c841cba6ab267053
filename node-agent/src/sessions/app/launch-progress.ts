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
  /** The session's user; null: it shares the agent's. */
  uid(): number | null;
  /** Whether the running app has drawn its first window. */
  isPresented(): boolean;
  /** Sends the state to the viewers. */
  notifyViewers(state: AppLaunchState): void;
}

/** The last known state of an app's start, and its reports. A swap's new app starts from the first state. */
export class LaunchProgress {
  readonly #deps: LaunchProgressDeps;
  #last: { appId: string; state: AppLaunchState };

  constructor(deps: LaunchProgressDeps) {
    this.#deps = deps;
    this.#last = { appId: deps.app.appId, state: 'starting' };
  }

  /** Updates the state, and reports a change. Scans the host's processes for a tile's title. */
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
    // For an app that is not a tile, viewers are already informed when it has drawn.
    if (tile !== undefined || state === 'game_exited') this.#deps.notifyViewers(state);
  }
}

/** Most processes whose environment is read in one search; an app may start thousands with large environments. */
const MAX_PROCESSES = 512;

/**
 * Whether a session runs a process of a tile's title. Steam sets a variable with the title in each game; other
 * sources do not, so their titles never count.
 * @param uid null: the session shares the agent's user
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
