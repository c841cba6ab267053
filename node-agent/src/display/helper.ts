import type { Clock, Random } from '@footlight/platform';
import type { SessionDirs, SessionUser } from '../runtime/runtime.ts';

/**
 * Command prefix that runs a helper in an empty network namespace: display, sound server and window manager use only
 * socket files. Needs root. Each helper gets its own namespace, so that none can bind an abstract name for another.
 */
export const WITHOUT_NETWORK = ['unshare', '--net', '--'] as const;

/** Options of every helper process of a session's display and sound. */
export interface HelperOptions {
  sessionId: string;
  user: SessionUser | null;
  dirs: SessionDirs;
  /** Command prefix that enters the namespaces of the session's helpers; empty = the agent's. */
  enter: readonly string[];
  /** Moves a started helper into the session's control group; missing: no control group. */
  confine?: (pid: number) => void;
  /** Aborts when the session ends; a running start is cancelled. */
  ended: AbortSignal;
}

export interface HelperDeps {
  clock: Clock;
  random: Random;
  /** The agent's environment; only locale and time zone are passed on. */
  env: NodeJS.ProcessEnv;
  /** Ends apps that hold names of displays; called when no display number is free. */
  endNameHolders?: () => Promise<void>;
}
