import type { AppLaunchState } from '@footlight/protocol';

export interface LaunchFacts {
  /** Whether the app has drawn its first window. */
  presented: boolean;
  /** Whether the title of a tile runs; null: the app is not a tile. */
  titleRuns: boolean | null;
}

/** The next state of an app's start. Pure. client_only: the client of a tile runs, but not its title. */
export function nextLaunchState(
  before: AppLaunchState,
  { presented, titleRuns }: LaunchFacts,
): AppLaunchState {
  if (!presented) return 'starting';
  if (titleRuns === null || titleRuns) return 'game_running';
  return before === 'game_running' || before === 'game_exited' ? 'game_exited' : 'client_only';
}
