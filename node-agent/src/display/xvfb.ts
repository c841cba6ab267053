import { chown } from 'node:fs/promises';
import type { Random } from '@footlight/platform';
import { type Clock, delay, errorText, within } from '@footlight/platform';
import { type Child, type ChildExit, startChild } from '../runtime/child.ts';
import { asSessionUser, helperEnvironment, withMemoryLimit } from '../runtime/launch-line.ts';
import { LogRing } from '../runtime/log-ring.ts';
import { COOKIE_BYTES, writeCookie } from './cookie.ts';
import {
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

const START_LIMIT_MS = 10_000;
const LISTEN_POLL_MS = 3;
const START_ATTEMPTS = 3;
/** What an X server says whose number another one has. */
const NUMBER_TAKEN = 'already running';
const STOP_LIMIT_MS = 500;
/** What a server wrote is in its pipe when it ends; a child of it may hold the pipe longer. */
const LAST_WORDS_MS = 100;
/** Sixty windows of 3840×2160. */
const X_SERVER_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * What a session draws on. Clients can connect from the beginning; they are served once it answers. Ends with close(),
 * which leaves neither lock nor socket behind.
 */
export interface Display {
  readonly number: number;
  /** ":N". */
  readonly name: string;
  readonly socket: string;
  readonly cookie: Buffer;
  readonly record: DisplayRecord;
  /** Input devices of the host reach it, those that uinput makes among them. */
  readonly readsDevices: boolean;
  /**
   * Settles when the server answers its clients. Rejects with its last words when it ends before, or when it has not
   * answered 10 s after its start, which ends it.
   */
  readonly answers: Promise<void>;
  /** Settles when the server is gone. */
  readonly exited: Promise<ChildExit>;
  /** Call it when the server answers. Tells once when the server has not answered for 5 s. */
  onSilent(listener: () => void): void;
  close(): Promise<void>;
}

export interface DisplayOptions extends HelperOptions {
  width: number;
  height: number;
}

/** Makes the secret that a display asks of its clients, in a file that only the session's user can read. */
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
 * Brings up what a session draws on, with that cookie. It listens then, and may not answer yet.
 * @throws when it does not come up; nothing is left then
 */
export type StartDisplay = (options: DisplayOptions, cookie: Buffer, deps: HelperDeps) => Promise<Display>;

/** Starts an Xvfb of the session's size. @throws when none listens within 10 s */
export const startXvfb: StartDisplay = (options, cookie, deps) => {
  const size = `${options.width}x${options.height}x24`;
  return startXServer(['Xvfb', '-screen', '0', size, '+extension', 'GLX'], {}, options, cookie, deps);
};

/**
 * Starts an X server as the session's user; it listens when this comes back.
 *
 * A server listens before it answers: an Xvfb listens after 20 ms, and answers after 74 (docs/benches.md, "Steps of a
 * launch").
 * Clients that connect meanwhile wait in the queue of its socket, so an app can start at the same time. The server
 * writes its number when it answers (-displayfd).
 *
 * It listens on its file socket only: an abstract socket could be reached from every mount namespace. This process holds
 * the abstract name meanwhile. A client needs the cookie, which only the session's user can read.
 * @param program its name, and words that only it knows
 * @param env on top of what every helper gets
 * @param cookie the one in the session's file
 * @throws when no server listens within 10 s
 */
export async function startXServer(...server: XServerOptions): Promise<Display> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnFreeNumber(...server);
    } catch (error) {
      // A server that keeps to no lock file was quicker.
      if (attempt === START_ATTEMPTS || !errorText(error).includes(NUMBER_TAKEN)) throw error;
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
  // A server that picks its own number takes the socket of another one of its user away from it, and makes no lock
  // file: any other server of the host, which may be root's, would do the same to this one.
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
  let tellReady: (isReady: true) => void = () => undefined;
  const ready = new Promise<true>((resolve) => {
    tellReady = resolve;
  });
  const server = [
    program,
    ...[`:${number}`, '-displayfd', '3', '-auth', dirs.xauthority],
    ...['-nolisten', 'tcp', '-nolisten', 'local', '-noreset', '-dpi', '96', '-s', '0'],
    ...words,
  ];
  const argv = asSessionUser(options, withMemoryLimit(X_SERVER_BYTES, server));
  const child = await startChild(argv, {
    env: { ...helperEnvironment(deps.env, options.sessionId, dirs), ...env },
    cwd: '/',
    onOutput: (chunk) => log.add(chunk),
    onReport: (chunk) => {
      numberText += chunk.toString('latin1');
      if (/^\d{1,5}\n/.test(numberText)) tellReady(true);
    },
  });
  const deadlineMs = deps.clock.monotonicMs() + START_LIMIT_MS;
  await reserved.handOver(child.pid);
  const failure = async (): Promise<Error> => {
    child.signal('SIGKILL');
    await child.exited;
    await within(deps.clock, LAST_WORDS_MS, child.drained, undefined);
    return new Error(`${program} did not start: ${log.tail(3, 400) || 'it gave no reason'}`);
  };
  const uid = options.user?.uid ?? process.getuid?.() ?? 0;
  while (!(await isServedBy(child.pid, uid, number).catch(() => false))) {
    if (!child.alive || options.ended.aborted || deps.clock.monotonicMs() > deadlineMs) {
      const error = await failure();
      const socket = error.message.includes(NUMBER_TAKEN) ? null : await socketMark(number);
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
    // Who waits for it handles the rejection; a display may be closed before.
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
    await Promise.race([this.#child.exited, delay(this.#clock, STOP_LIMIT_MS)]);
    this.#child.signal('SIGKILL');
    await this.#child.exited;
    await removeDisplayFiles(this.record);
    this.#reserved.release();
  }
}
