import type { AppSpec } from '@footlight/protocol/agent';
import type { AppNetwork } from './network/app-network.ts';

/** The user that a session's processes run as; null = the agent's own. */
export interface SessionUser {
  uid: number;
  gid: number;
  /** Supplementary groups, for example of a GPU's render node. */
  groups: number[];
}

/** Directories of one session; all but `root`, `mounts` and `console` belong to the session's user. */
export interface SessionDirs {
  /** Holds the others and the agent's record of the session. */
  root: string;
  /** Everything below is removed with the session. */
  scratch: string;
  /** HOME of helpers, and of the app when it has no home of its own. */
  home: string;
  tmp: string;
  /** XDG_RUNTIME_DIR, mode 0700. */
  run: string;
  /** Cookie file of the session's display. */
  xauthority: string;
  /** Mount points and files that the agent prepares for the app's namespace; not writable by the session. */
  mounts: string;
  /** Of the program that draws on a display beside the host; there only where the session is shown on one. */
  console: string;
}

/** The screen and sound that an app is given. */
export interface AppSurroundings {
  sessionId: string;
  /** Names this app among those of all sessions: the session's id, with a number before it after a change of app. */
  instance: string;
  user: SessionUser | null;
  dirs: SessionDirs;
  /** Words before a command line that run it in the session's IPC namespace; none = the session has the agent's. */
  enter: readonly string[];
  /** HOME of the app. */
  home: string;
  /** ":N". */
  display: string;
  /** Path of the display's socket. */
  displaySocket: string;
  /** PulseAudio server string; null = a session without sound. */
  pulseServer: string | null;
  /** From openNetwork(); null: the app has the host's network. start() owns it from here on. */
  network: AppNetwork | null;
}

export interface AppExit {
  /** null when a signal ended it. */
  status: number | null;
}

/** An app under way. It and everything that it started are gone when `stop` has come back. */
export interface RunningApp {
  /**
   * Settles once: when the app's first process failed, or ended with status 0 and no process of the app is left. What
   * its session bus activated is no process of the app.
   */
  readonly exited: Promise<AppExit>;
  /** Settles when the app's first process has ended with status 0, whether others of it are left or not. */
  readonly handedOver: Promise<void>;
  /** About the last hundred lines that it wrote, oldest first, without control characters. */
  logTail(): string;
  /**
   * SIGTERM to all of it, SIGKILL after graceMs; comes back when nothing of it is left. Repeatable.
   * @throws when something of it is left all the same
   */
  stop(graceMs: number): Promise<void>;
}

/** A way to run an app: as a process of this host, or as a container. */
export interface Runtime {
  /**
   * Makes the network of an app that is to start, which may be done while its display starts. The caller closes it, or
   * gives it to start().
   * @returns null: the app has the host's network
   * @throws when it cannot be made
   */
  openNetwork(app: AppSpec): Promise<AppNetwork | null>;
  /** @throws when the app cannot be started at all; an app that ends at once is not an error here */
  start(app: AppSpec, surroundings: AppSurroundings): Promise<RunningApp>;
}
