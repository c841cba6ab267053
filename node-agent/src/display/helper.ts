import type { Clock, Random } from '@footlight/platform';
import type { SessionDirs, SessionUser } from '../runtime/runtime.ts';

/**
 * Words that run a helper in a network namespace with nothing in it: display, sound and window manager talk over socket
 * files alone. They need root. Each helper has one of its own, so that none can bind an abstract name for another.
 */
export const WITHOUT_NETWORK = ['unshare', '--net', '--'] as const;

/** What every helper process of a session's display and sound is started with. */
export interface HelperOptions {
  sessionId: string;
  user: SessionUser | null;
  dirs: SessionDirs;
  /** Words before a command line that run it in the namespaces of the session's helpers; none = they have the agent's. */
  enter: readonly string[];
  /** Fires when the session ends: a start that is under way is cut short. */
  ended: AbortSignal;
}

export interface HelperDeps {
  clock: Clock;
  random: Random;
  /** The agent's own environment; only locale and time zone pass. */
  env: NodeJS.ProcessEnv;
  /** Ends the apps that hold names of displays; called when no display number is free. */
  endNameHolders?: () => Promise<void>;
}
