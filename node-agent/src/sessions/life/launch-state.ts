import type { AppLaunchState } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import { sessionProcesses, startVariable } from '../../runtime/proc-table.ts';

export interface LaunchFacts {
  /** The app has drawn its first window. */
  presented: boolean;
  /** Whether the title of a tile runs; null for an app that is no tile. */
  titleRuns: boolean | null;
}

/** The next state of an app's start. Pure. Source: docs/sessions.md, "How far an app is". */
export function nextLaunchState(
  before: AppLaunchState,
  { presented, titleRuns }: LaunchFacts,
): AppLaunchState {
  if (!presented) return 'starting';
  if (titleRuns === null || titleRuns) return 'game_running';
  return before === 'game_running' || before === 'game_exited' ? 'game_exited' : 'client_only';
}

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
  return sessionProcesses(sessionId, uid).some(({ pid }) => startVariable(pid, 'SteamAppId') === external_id);
}
