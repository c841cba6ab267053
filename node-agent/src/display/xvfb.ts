import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { type Clock, delay, within } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { errorText } from '../platform/text.ts';
import { type Child, type ChildExit, startChild } from '../runtime/child.ts';
import { asSessionUser, helperEnvironment } from '../runtime/launch-line.ts';
import { LogRing } from '../runtime/log-ring.ts';
import { readProcess } from '../runtime/proc-table.ts';
import { COOKIE_BYTES, writeCookie } from './cookie.ts';
import type { HelperDeps, HelperOptions } from './helper.ts';
import { DisplayWatch } from './watch.ts';

export const SOCKET_DIR = '/tmp/.X11-unix';
const SOCKET_DIR_MODE = 0o1777;
const START_LIMIT_MS = 10_000;
const START_ATTEMPTS = 3;
/** What an X server says whose number another one has. */
const NUMBER_TAKEN = 'already running';
const STOP_LIMIT_MS = 500;
const DISPLAY_NUMBERS = 1_000;

/** What names one display server for ever, even when its number and pid were used again. */
export interface DisplayRecord {
  number: number;
  pid: number;
  /** Mark of its socket; null = it has none. */
  socket: string | null;
}

/** What a session draws on. Ends with close(), which leaves neither lock nor socket behind. */
export interface Display {
  readonly number: number;
  /** ":N". */
  readonly name: string;
  readonly socket: string;
  readonly cookie: Buffer;
  readonly record: DisplayRecord;
  /** Input devices of the host reach it, those that uinput makes among them. */
  readonly readsDevices: boolean;
  /** Settles when the server is gone. */
  readonly exited: Promise<ChildExit>;
  /** Tells once when the server has not answered for 5 s. */
  onSilent(listener: () => void): void;
  close(): Promise<void>;
}

export interface DisplayOptions extends HelperOptions {
  width: number;
  height: number;
}

/** Makes the secret that a display asks of its clients, in a file that only the session's user can read. */
export async function makeCookie({ dirs, user }: HelperOptions, random: Random): Promise<Buffer> {
  const cookie = random.bytes(COOKIE_BYTES);
  await writeCookie(dirs.xauthority, cookie);
  if (user) await chown(dirs.xauthority, user.uid, user.gid);
  return cookie;
}

/** Brings up what a session draws on, with that cookie. @throws when it does not come up; nothing is left then */
export type StartDisplay = (options: DisplayOptions, cookie: Buffer, deps: HelperDeps) => Promise<Display>;

/** Starts an Xvfb of the session's size. @throws when no server comes up within 10 s */
export const startXvfb: StartDisplay = (options, cookie, deps) => {
  const size = `${options.width}x${options.height}x24`;
  return startXServer(['Xvfb', '-screen', '0', size, '+extension', 'GLX'], {}, options, cookie, deps);
};

/**
 * Starts an X server as the session's user; it answers when this comes back.
 *
 * The server says its number when it is ready (-displayfd). It listens on its file socket only:
 * an abstract socket could be reached from every mount namespace. Whoever connects needs the cookie, which only
 * the session's user can read.
 * @param program its name, and words that only it knows
 * @param env on top of what every helper gets
 * @param cookie the one in the session's file
 * @throws when no server comes up within 10 s
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
  const [[program, ...words], env, options, cookie, deps] = server;
  const { dirs, user } = options;
  makeSocketDir();
  const log = new LogRing(64 * 1024);
  let numberText = '';
  let tellNumber: (number: number) => void = () => undefined;
  const ready = new Promise<number>((resolve) => {
    tellNumber = resolve;
  });
  // A server that picks its own number takes the socket of another one of its user away from it, and makes no lock
  // file: any other server of the host, which may be root's, would do the same to this one.
  const reserved = reserveDisplay();
  const argv = asSessionUser(user, [
    program,
    ...[`:${reserved}`, '-displayfd', '3', '-auth', dirs.xauthority],
    ...['-nolisten', 'tcp', '-nolisten', 'local', '-noreset', '-dpi', '96', '-s', '0'],
    ...words,
  ]);
  const child = await startChild(argv, {
    env: { ...helperEnvironment(deps.env, options.sessionId, dirs), ...env },
    cwd: '/',
    onOutput: (chunk) => log.add(chunk),
    onReport: (chunk) => {
      numberText += chunk.toString('latin1');
      const match = /^(\d{1,5})\n/.exec(numberText);
      if (match) tellNumber(Number(match[1]));
    },
  });
  writeFileSync(lockFile(reserved), lockText(child.pid));
  const cutShort = () => child.signal('SIGKILL');
  options.ended.addEventListener('abort', cutShort);
  const number = await Promise.race([
    within(deps.clock, START_LIMIT_MS, ready, null),
    child.exited.then(() => null),
  ]);
  options.ended.removeEventListener('abort', cutShort);
  if (number === null) {
    child.signal('SIGKILL');
    await child.exited;
    const why = log.tail(3, 400) || 'it gave no reason';
    const socket = why.includes(NUMBER_TAKEN) ? null : socketMark(reserved);
    removeDisplayFiles({ number: reserved, pid: child.pid, socket });
    throw new Error(`${program} did not start: ${why}`);
  }
  return new RunningXServer(number, cookie, child, deps.clock);
}

class RunningXServer implements Display {
  readonly number: number;
  readonly name: string;
  readonly socket: string;
  readonly cookie: Buffer;
  readonly record: DisplayRecord;
  readonly readsDevices = false;
  readonly exited: Promise<ChildExit>;
  readonly #child: Child;
  readonly #clock: Clock;
  #watch: DisplayWatch | null = null;

  constructor(number: number, cookie: Buffer, child: Child, clock: Clock) {
    this.number = number;
    this.name = `:${number}`;
    this.socket = displaySocket(number);
    this.cookie = cookie;
    this.record = { number, pid: child.pid, socket: socketMark(number) };
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
    removeDisplayFiles(this.record);
  }
}

export function displaySocket(number: number): string {
  return `${SOCKET_DIR}/X${number}`;
}

/**
 * What tells a display's socket from a later server's on the same number; null = no socket. The inode alone does not:
 * file systems give the number of a file that is gone to the next one.
 */
export function socketMark(number: number): string | null {
  try {
    const { ino, birthtimeNs } = statSync(displaySocket(number), { bigint: true });
    return `${ino}-${birthtimeNs}`;
  } catch {
    return null;
  }
}

/**
 * Removes what a killed display server left in /tmp, and nothing of a server that has taken the number since.
 * Not every server keeps to the lock files (one with -displayfd does not), so the socket itself has to say whose it is.
 */
export function removeDisplayFiles(display: DisplayRecord): void {
  if (socketMark(display.number) === display.socket) rmSync(displaySocket(display.number), { force: true });
  const lock = lockFile(display.number);
  if (lockHolder(lock) === display.pid) rmSync(lock, { force: true });
}

/**
 * Takes a display number that nobody has, by its lock file, as X servers do among themselves.
 * @throws when none of a thousand is free
 */
export function reserveDisplay(): number {
  const sockets = readFileSync('/proc/net/unix', 'latin1');
  for (let number = 0; number < DISPLAY_NUMBERS; number++) {
    // Clients try the abstract name first, and would reach whoever has it.
    if (sockets.includes(`@${displaySocket(number)}\n`)) continue;
    const lock = lockFile(number);
    try {
      const holder = lockHolder(lock) ?? 0;
      if (holder > 0 && readProcess(holder) === null) rmSync(lock, { force: true });
      if (socketMark(number) !== null) continue;
      writeFileSync(lock, lockText(process.pid), { flag: 'wx' });
      return number;
    } catch {
      // Somebody has it, or was quicker.
    }
  }
  throw new Error('no display number is free');
}

/** Gives a number back that this process has reserved, when its server is gone. */
export function freeDisplay(number: number): void {
  removeDisplayFiles({ number, pid: process.pid, socket: socketMark(number) });
}

function lockFile(number: number): string {
  return `/tmp/.X${number}-lock`;
}

/** The pid in ten columns, as every X server writes and reads it. */
function lockText(pid: number): string {
  return `${String(pid).padStart(10)}\n`;
}

function lockHolder(lock: string): number | null {
  try {
    return Number(readFileSync(lock, 'latin1').trim());
  } catch {
    return null;
  }
}

/**
 * The socket directory must be there and open to all before a server without root's rights can use it. Whoever made it
 * may have had a umask; an X server that runs as root opens it in the same way.
 */
export function makeSocketDir(directory = SOCKET_DIR): void {
  if (process.getuid?.() !== 0) return;
  mkdirSync(directory, { recursive: true });
  const found = lstatSync(directory);
  const isOurs = found.isDirectory() && found.uid === 0;
  if (isOurs && (found.mode & 0o7777) !== SOCKET_DIR_MODE) chmodSync(directory, SOCKET_DIR_MODE);
}
