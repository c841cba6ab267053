import type { Clock, Random } from '@footlight/platform';
import type { SessionDirs, SessionUser } from '../runtime/runtime.ts';

/**
 * Command prefix that runs a helper (display, sound server or window manager) in an empty network namespace, because
 * helpers use only socket files. Needs root. Each helper gets its own namespace, so that a helper cannot bind an
 * abstract name that another helper uses.
 */
export const WITHOUT_NETWORK = ['unshare', '--net', '--'] as const;

/** Options of every helper process of a session's display and sound. */
export interface HelperOptions {
  sessionId: string;
  user: SessionUser | null;
  dirs: SessionDirs;
  /**
   * Command prefix that enters the namespaces of the session's helpers; empty: helpers run in the agent's namespaces.
   */
  enter: readonly string[];
  /** Moves a started helper into the session's control group; missing: the session has no control group. */
  confine?: (pid: number) => void;
  /** Aborts when the session ends; a start that is running is then cancelled. */
  ended: AbortSignal;
}

export interface HelperDeps {
  clock: Clock;
  random: Random;
  /** The agent's environment; only locale and time zone are passed on. */
  env: NodeJS.ProcessEnv;
  /** Ends apps that have bound the abstract names of displays. Called when no display number is free. */
  endNameHolders?: () => Promise<void>;
}
