import { chown } from 'node:fs/promises';
import type { Random } from '@footlight/platform';
import { type Clock, delay, within } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { helperEnvironment, withMemoryLimit } from '../runtime/confinement/command-line.ts';
import { LogRing } from '../runtime/log-ring.ts';
import type { Child, ChildExit } from '../runtime/programs/child.ts';
import { startHelper } from '../runtime/sandbox.ts';
import { COOKIE_BYTES, writeCookie } from './cookie.ts';
import {
  closeSocketToOthers,
  type DisplayRecord,
  displaySocket,
  isServedBy,
  makeSocketDir,
  type ReservedDisplay,
  removeDisplayFiles,
  reserveDisplay,
  socketMark,
} from './display-number.ts';
import type { HelperDeps, HelperOptions } from './helper.ts';
import { DisplayWatch } from './watch.ts';

/** The whole launch takes half a second (docs/benches.md, `launch`), so only a hanging server exceeds this limit. */
const START_LIMIT_MS = withPatience(10_000);
/** Short, because the launch waits for the display. Each poll calls stat(2) once. */
const LISTEN_POLL_MS = 3;
/**
 * Number of attempts. Another program may take the display number before the server has started, but hardly several
 * times in a row.
 */
const START_ATTEMPTS = 3;
/** Length of the longest display number with its line end. */
const NUMBER_CHARACTERS = 6;
/**
 * Another server without a lock file uses the number already. Only this text in the X server's output shows this
 * failure.
 */
class DisplayNumberTaken extends Error {
  static readonly text = 'already running';
}
/** Time between SIGTERM and SIGKILL. The end of the session waits for it. Chosen, not measured. */
const STOP_LIMIT_MS = withPatience(500);
/**
 * Longest wait for the rest of a dead server's output. A child process of the server may keep the pipe open for longer.
 */
const LAST_WORDS_MS = 100;
/** Memory limit, enough for sixty windows of 3840×2160. */
const X_SERVER_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * The display of a session. Clients can connect at once; the server answers them after it has started. close() ends the
 * server and removes its lock and socket.
 */
export interface Display {
  readonly number: number;
  /** Name of the display: ":N". */
  readonly name: string;
  readonly socket: string;
  readonly cookie: Buffer;
  readonly record: DisplayRecord;
  /** Whether the display reads input devices of the host, including uinput devices. */
  readonly readsDevices: boolean;
  /**
   * Resolves when the server answers clients. Rejects with the server's last output when the server ends earlier. If
   * the server does not answer within 10 s after its start, it is ended and `answers` rejects.
   */
  readonly answers: Promise<void>;
  /** Settles when the server has exited. */
  readonly exited: Promise<ChildExit>;
  /**
   * Starts to watch the server; call it after `answers` has resolved. Calls the listener once, when the server has not
   * answered for 5 s.
   */
  onSilent(listener: () => void): void;
  close(): Promise<void>;
}

export interface DisplayOptions extends HelperOptions {
  width: number;
  height: number;
}

/** Creates the display's cookie in a file that only the session's user can read. */
export async function makeCookie(
  { dirs, user }: Pick<HelperOptions, 'dirs' | 'user'>,
  random: Random,
): Promise<Buffer> {
  const cookie = random.bytes(COOKIE_BYTES);
  await writeCookie(dirs.xauthority, cookie);
  if (user) await chown(dirs.xauthority, user.uid, user.gid);
  return cookie;
}

/**
 * Starts a session's display with this cookie. When the promise resolves, the display listens, but perhaps does not
 * answer yet.
 * @throws when the display does not start; no process or file of it is left
 */
export type StartDisplay = (options: DisplayOptions, cookie: Buffer, deps: HelperDeps) => Promise<Display>;

/** Starts an Xvfb of the session's size. @throws when it does not listen within 10 s */
export const startXvfb: StartDisplay = (options, cookie, deps) => {
  const size = `${options.width}x${options.height}x24`;
  return startXServer(['Xvfb', '-screen', '0', size, '+extension', 'GLX'], {}, options, cookie, deps);
};

/**
 * Starts an X server as the session's user. When the promise resolves, the server listens.
 *
 * An Xvfb listens after 20 ms and answers after 74 ms (medians of ten starts at a load of 7). Until it answers, clients
 * wait in the queue of its socket, so the app can be started in this time. When the server answers, it writes its
 * number to -displayfd.
 *
 * The server listens only on its file socket, because an abstract socket could be reached from every mount namespace;
 * this process reserves the abstract name. A client needs the cookie, which only the session's user can read.
 * @param program the server's name and its own arguments
 * @param env added to the environment of helpers
 * @param cookie the same as in the session's Xauthority file
 * @throws when no server listens within 10 s
 */
export async function startXServer(...server: XServerOptions): Promise<Display> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnFreeNumber(...server);
    } catch (error) {
      if (attempt === START_ATTEMPTS || !(error instanceof DisplayNumberTaken)) throw error;
    }
  }
}

type XServerOptions = [
  program: readonly [string, ...string[]],
  env: Record<string, string>,
  options: HelperOptions,
  cookie: Buffer,
  deps: HelperDeps,
];

async function startOnFreeNumber(...server: XServerOptions): Promise<Display> {
  const deps = server[4];
  await makeSocketDir();
  // The server does not choose the number itself, because it would then replace the socket of another server of the
  // same user. It would also create no lock file, so another server of the host could replace its socket.
  let reserved = await reserveDisplay();
  if (reserved === null) {
    await deps.endNameHolders?.();
    reserved = await reserveDisplay();
  }
  if (reserved === null) throw new Error('no display number is free');
  try {
    return await startOn(reserved, ...server);
  } catch (error) {
    reserved.release();
    throw error;
  }
}

async function startOn(
  reserved: ReservedDisplay,
  ...[[program, ...words], env, options, cookie, deps]: XServerOptions
): Promise<Display> {
  const { dirs } = options;
  const { number } = reserved;
  const log = new LogRing(64 * 1024);
  let numberText = '';
  let resolveReady: (isReady: true) => void = () => undefined;
  const ready = new Promise<true>((resolve) => {
    resolveReady = resolve;
  });
  const server = [
    program,
    ...[`:${number}`, '-displayfd', '3', '-auth', dirs.xauthority],
    ...['-nolisten', 'tcp', '-nolisten', 'local', '-noreset', '-dpi', '96', '-s', '0'],
    ...words,
  ];
  const argv = withMemoryLimit(X_SERVER_BYTES, server);
  const settings = {
    env: { ...helperEnvironment(deps.env, options.sessionId, dirs), ...env },
    cwd: '/',
    clock: deps.clock,
    onOutput: (chunk: Buffer) => log.add(chunk),
    onReport: (chunk: Buffer) => {
      numberText = `${numberText}${chunk.toString('latin1')}`.slice(0, NUMBER_CHARACTERS);
      if (/^\d{1,5}\n/.test(numberText)) resolveReady(true);
    },
  };
  const child = await startHelper(options, argv, settings, deps.clock);
  options.confine?.(child.pid);
  const deadlineMs = deps.clock.monotonicMs() + START_LIMIT_MS;
  await reserved.handOver(child.pid);
  const failure = async (): Promise<Error> => {
    child.signal('SIGKILL');
    await child.exited;
    await within(deps.clock, LAST_WORDS_MS, child.drained, undefined);
    const why = log.tail(3, 400);
    const Failure = why.includes(DisplayNumberTaken.text) ? DisplayNumberTaken : Error;
    return new Failure(`${program} did not start: ${why || 'it gave no reason'}`);
  };
  const uid = options.user?.uid ?? process.getuid?.() ?? 0;
  let isClosed = false;
  const isServed = async () => {
    // Done first, because other users can connect to the socket until this call succeeds.
    isClosed ||= await closeSocketToOthers(number, uid);
    return isClosed && isServedBy(child.pid, uid, number);
  };
  while (!(await isServed().catch(() => false))) {
    if (!child.alive || options.ended.aborted || deps.clock.monotonicMs() > deadlineMs) {
      const error = await failure();
      const socket = error instanceof DisplayNumberTaken ? null : await socketMark(number);
      await removeDisplayFiles({ number, pid: child.pid, socket });
      throw error;
    }
    await delay(deps.clock, LISTEN_POLL_MS);
  }
  const ended = child.exited.then(() => false);
  const restMs = deadlineMs - deps.clock.monotonicMs();
  const answers = within(deps.clock, restMs, Promise.race([ready, ended]), false).then(async (isReady) => {
    if (!isReady) throw await failure();
  });
  return new RunningXServer(reserved, await socketMark(number), cookie, child, answers, deps.clock);
}

class RunningXServer implements Display {
  readonly number: number;
  readonly name: string;
  readonly socket: string;
  readonly cookie: Buffer;
  readonly record: DisplayRecord;
  readonly readsDevices = false;
  readonly answers: Promise<void>;
  readonly exited: Promise<ChildExit>;
  readonly #reserved: ReservedDisplay;
  readonly #child: Child;
  readonly #clock: Clock;
  #watch: DisplayWatch | null = null;

  constructor(
    reserved: ReservedDisplay,
    socketMark: string | null,
    cookie: Buffer,
    child: Child,
    answers: Promise<void>,
    clock: Clock,
  ) {
    const { number } = reserved;
    this.number = number;
    this.name = `:${number}`;
    this.socket = displaySocket(number);
    this.cookie = cookie;
    this.record = { number, pid: child.pid, socket: socketMark };
    this.#reserved = reserved;
    this.answers = answers;
    // Prevents an unhandled rejection if the display is closed before anyone waits for `answers`. Callers of `answers`
    // still get the rejection.
    answers.catch(() => undefined);
    this.exited = child.exited;
    this.#child = child;
    this.#clock = clock;
  }

  onSilent(listener: () => void): void {
    this.#watch?.close();
    this.#watch = new DisplayWatch(this.socket, this.cookie, this.#clock, listener);
  }

  async close(): Promise<void> {
    this.#watch?.close();
    this.#child.signal('SIGTERM');
    await within(this.#clock, STOP_LIMIT_MS, this.#child.exited, undefined);
    this.#child.signal('SIGKILL');
    await this.#child.exited;
    await removeDisplayFiles(this.record);
    this.#reserved.release();
  }
}
