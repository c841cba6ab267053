import type { FailureCode } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import type { AppNetwork } from './network/app-network.ts';

/** User of a session's processes; null: the agent's user. */
export interface SessionUser {
  uid: number;
  gid: number;
  /** Supplementary groups, for example the group of a GPU's render node. */
  groups: number[];
}

/** Directories of one session; all except `root`, `mounts` and `console` belong to the session's user. */
export interface SessionDirs {
  /** Parent of the other directories; also contains the agent's record of the session. */
  root: string;
  /** Directory that is removed with the session, including its content. */
  scratch: string;
  /** HOME of helpers, and of an app without a saved home. */
  home: string;
  tmp: string;
  /** XDG_RUNTIME_DIR, mode 0700. */
  run: string;
  /** Cookie file of the session's display. */
  xauthority: string;
  /** Mount points and files that the agent prepares for the app's namespace. The session cannot write here. */
  mounts: string;
  /** Directory of the program that draws on the console; used only in console sessions. */
  console: string;
}

/** Screen and sound of an app. */
export interface AppContext {
  sessionId: string;
  /** Unique name of this app: the session's id. After an app was swapped, a number precedes the id. */
  instance: string;
  user: SessionUser | null;
  dirs: SessionDirs;
  /** Command prefix that enters the session's IPC namespace; empty: the agent's namespace is used. */
  enter: readonly string[];
  /** HOME of the app. */
  home: string;
  /** Directory that the app sees at `home` instead; null: the directory that is there. Only for isolated processes. */
  overlay: string | null;
  /** Name of the display, ":N". */
  display: string;
  /** Path of the display's socket. */
  displaySocket: string;
  /** PulseAudio server string; null: the session has no sound. */
  pulseServer: string | null;
  /** Result of openNetwork(); null: the host's network. start() takes ownership. */
  network: AppNetwork | null;
  /** The session's GPU, for apps that use it. */
  gpu: AppGpu;
  /**
   * The app's program starts when this promise resolves. When it rejects, start() rejects with the same error, and
   * leaves nothing behind.
   */
  ready: Promise<void>;
}

/** Names under which an app can use a GPU. */
export interface AppGpu {
  /** Path of the device file; null: the GPU has none. */
  renderNode: string | null;
  /** Name in the container device interface (CDI); null: not an NVIDIA GPU. */
  cdiName: string | null;
}

/** An app cannot be started; `code` is the reason for the end of its session. */
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
  /** Called with the progress of the download in percent. */
  onPercent(percent: number): void;
}

export interface AppExit {
  /** Exit status; null: a signal ended the app. */
  status: number | null;
}

/** A running app. After `stop`, none of the app's processes is left. */
export interface RunningApp {
  /**
   * Settles once: when the app's first process has failed, or when it exited with status 0 and no process of the app is
   * left. Programs that the session bus activated do not count.
   */
  readonly exited: Promise<AppExit>;
  /** Settles when the first process exited with status 0, even if other processes are left. */
  readonly handedOver: Promise<void>;
  /**
   * The last lines of the app's output, oldest first, without control characters.
   * @param lines largest number of lines; default: a hundred lines, at most 64 KiB
   */
  logTail(lines?: number, maxBytes?: number): string;
  /**
   * Sends SIGTERM to all processes of the app, and SIGKILL after graceMs. Resolves when no process is left. Repeatable.
   * @throws when a process is left
   */
  stop(graceMs: number): Promise<void>;
}

/** A way to run an app: as a process of this host, or as a container. */
export interface Runtime {
  /**
   * Fetches the app's image before its start. Resolves at once if the image is present.
   * @throws LaunchError
   */
  fetch(app: AppSpec, options: FetchOptions): Promise<void>;
  /**
   * Creates the network of an app before its start, possibly while its display starts. The caller closes it or passes
   * it to start().
   * @returns null: the app uses the host's network
   * @throws when the network cannot be created
   */
  openNetwork(app: AppSpec): Promise<AppNetwork | null>;
  /**
   * @throws when the app cannot be started; a LaunchError if there is a code for the reason. No error is thrown if the
   * app starts and then ends at once
   */
  start(app: AppSpec, context: AppContext): Promise<RunningApp>;
}
