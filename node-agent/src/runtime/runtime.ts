import type { FailureCode } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import type { AppNetwork } from './network/app-network.ts';

/** User of a session's processes; null = the agent's. */
export interface SessionUser {
  uid: number;
  gid: number;
  /** Supplementary groups, for example of a GPU's render node. */
  groups: number[];
}

/** Directories of one session; all except `root`, `mounts` and `console` belong to the session's user. */
export interface SessionDirs {
  /** Parent of the others, with the agent's record of the session. */
  root: string;
  /** Removed with the session, with everything below. */
  scratch: string;
  /** HOME of helpers, and of an app without a home. */
  home: string;
  tmp: string;
  /** XDG_RUNTIME_DIR, mode 0700. */
  run: string;
  /** Cookie file of the session's display. */
  xauthority: string;
  /** Mount points and files that the agent prepares for the app's namespace; not writable for the session. */
  mounts: string;
  /** Directory of the program that draws on the console; only for console sessions. */
  console: string;
}

/** Screen and sound of an app. */
export interface AppContext {
  sessionId: string;
  /** Unique name of this app: the session's id, with a number in front after a swap. */
  instance: string;
  user: SessionUser | null;
  dirs: SessionDirs;
  /** Command prefix that enters the session's IPC namespace; empty = the agent's. */
  enter: readonly string[];
  /** HOME of the app. */
  home: string;
  /** ":N". */
  display: string;
  /** Path of the display's socket. */
  displaySocket: string;
  /** PulseAudio server string; null = no sound. */
  pulseServer: string | null;
  /** From openNetwork(); null: the host's network. start() takes ownership. */
  network: AppNetwork | null;
  /** The session's GPU, for apps that use it. */
  gpu: AppGpu;
}

/** Names of a GPU. */
export interface AppGpu {
  /** Device file; null: none. */
  renderNode: string | null;
  /** Name for the container device interface; null: no NVIDIA GPU. */
  cdiName: string | null;
}

/** An app that cannot be started, with the code of its session's end. */
export class LaunchError extends Error {
  constructor(
    readonly code: FailureCode,
    message: string,
  ) {
    super(message);
    this.name = 'LaunchError';
  }
}

export interface FetchOptions {
  /** Aborts when the launch is cancelled. */
  ended: AbortSignal;
  /** Called with the progress of the download. */
  onPercent(percent: number): void;
}

export interface AppExit {
  /** null after a signal. */
  status: number | null;
}

/** A running app. After `stop`, none of its processes is left. */
export interface RunningApp {
  /**
   * Settles once: when the app's first process failed, or exited with status 0 and no process of the app is left.
   * Programs that the session bus activated do not count.
   */
  readonly exited: Promise<AppExit>;
  /** Settles when the first process exited with status 0, even if others are left. */
  readonly handedOver: Promise<void>;
  /**
   * The last lines of its output, oldest first, without control characters.
   * @param lines most lines (count); default: a hundred, of 64 KiB
   */
  logTail(lines?: number, maxBytes?: number): string;
  /**
   * Sends SIGTERM to all its processes, and SIGKILL after graceMs; returns when none is left. Repeatable.
   * @throws when a process is left
   */
  stop(graceMs: number): Promise<void>;
}

/** A way to run an app: as a process of this host, or as a container. */
export interface Runtime {
  /**
   * Fetches the app's image before its start. Returns at once if nothing is missing.
   * @throws LaunchError
   */
  fetch(app: AppSpec, options: FetchOptions): Promise<void>;
  /**
   * Creates the network of an app before its start, possibly while its display starts. The caller closes it or passes
   * it to start().
   * @returns null: the app uses the host's network
   * @throws when it cannot be made
   */
  openNetwork(app: AppSpec): Promise<AppNetwork | null>;
  /**
   * @throws when the app cannot be started; a LaunchError if the reason has its own code. An app that ends at once does
   *   not cause an error here
   */
  start(app: AppSpec, context: AppContext): Promise<RunningApp>;
}
