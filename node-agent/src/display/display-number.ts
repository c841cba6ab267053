import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rm, rmdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { readSharedFile } from '../platform/shared-file.ts';
import { type HeldName, holdAbstractName, listeningProcess } from '../platform/unix-names.ts';
import { removeTree } from '../runtime/belongings.ts';
import { readProcess } from '../runtime/proc-table.ts';

export const SOCKET_DIR = '/tmp/.X11-unix';
const SOCKET_DIR_MODE = 0o1777;
/** Numbers that displays of sessions may have: 0 to 999. */
export const DISPLAY_NUMBERS = 1_000;
/** An X server writes 11 bytes. */
const LOCK_BYTES = 64;

/** What names one display server for ever, even when its number and pid were used again. */
export interface DisplayRecord {
  number: number;
  pid: number;
  /** Mark of its socket; null = it has none. */
  socket: string | null;
}

/** A display number that this process has reserved. */
export interface ReservedDisplay {
  readonly number: number;
  /** Writes the server's pid into the lock file. */
  handOver(pid: number): Promise<void>;
  /**
   * Gives the abstract name back. Call it when the display is gone.
   *
   * Clients of the server try this name first (libxcb), and the server does not listen on it. An attacker who binds
   * it gets the connections of the session's app and capture, cookie included. While this process holds the name,
   * clients are refused and go on to the socket file.
   */
  release(): void;
}

/**
 * Takes a display number that nobody has: its abstract name, and its lock file as X servers do among themselves.
 *
 * Anybody may put anything at these paths. Numbers that look taken are left alone while there are others. When there
 * are none, what no X server makes goes: links, pipes, directories, locks of numbers without a server. Where this
 * process may not remove it, a lock is done without: the servers of sessions keep to none.
 * @returns null when none of a thousand is free
 */
export async function reserveDisplay(): Promise<ReservedDisplay | null> {
  for (const attempt of [takeClean, takeAfterClearing]) {
    for (let number = 0; number < DISPLAY_NUMBERS; number++) {
      const name = holdAbstractName(displaySocket(number));
      if (name === null) continue;
      try {
        const taken = await attempt(number);
        if (taken !== null) return reserved(number, name, taken.lock);
        name.release();
      } catch (error) {
        name.release();
        throw error;
      }
    }
  }
  return null;
}

function reserved(number: number, name: HeldName, lock: FileHandle | null): ReservedDisplay {
  return {
    number,
    async handOver(pid) {
      await lock?.write(lockText(pid), 0).catch(() => undefined);
      await lock?.close();
    },
    release: () => name.release(),
  };
}

/** @returns null when something lies at its lock, at its socket or at its keyboard map */
async function takeClean(number: number): Promise<{ lock: FileHandle } | null> {
  const [found, socket, hasKeymap] = await Promise.all([
    readSharedFile(lockFile(number), LOCK_BYTES),
    socketMark(number),
    isThere(keymapFile(number)),
  ]);
  if (found.kind === 'unfit') return null;
  if (found.kind === 'read') {
    const holder = lockedBy(found.bytes);
    if (!(holder > 0) || readProcess(holder) !== null) return null;
    await unlink(lockFile(number)).catch(() => undefined);
  }
  if (socket !== null || hasKeymap) return null;
  const lock = await makeLock(number);
  return lock === null ? null : { lock };
}

/** @returns null when a server has the number, or what lies at its socket or keyboard map cannot be removed */
async function takeAfterClearing(number: number): Promise<{ lock: FileHandle | null } | null> {
  const socket = displaySocket(number);
  if (await listens(socket)) return null;
  await removeWhatever(socket);
  await removeWhatever(keymapFile(number));
  if ((await socketMark(number)) !== null || (await isThere(keymapFile(number)))) return null;
  await removeWhatever(lockFile(number));
  return { lock: await makeLock(number) };
}

async function makeLock(number: number): Promise<FileHandle | null> {
  // Made exclusively, so no link is followed.
  const lock = await open(lockFile(number), 'wx', 0o644).catch(() => null);
  await lock?.write(lockText(process.pid), 0).catch(() => undefined);
  return lock;
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}

async function removeWhatever(path: string): Promise<void> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return;
  const removal = info.isDirectory() ? rmdir(path).catch(() => removeTree(path)) : unlink(path);
  await removal.catch(() => undefined);
}

/** Whether a server takes connections at this path. */
async function listens(path: string): Promise<boolean> {
  // A link may lead to the socket of another server.
  if ((await lstat(path).catch(() => null))?.isSocket() !== true) return false;
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    // EAGAIN: it listens, and its queue is full.
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code !== 'ECONNREFUSED'));
  });
}

/**
 * Whether that server takes connections at its socket. Anybody may put a socket, or a link to one, at the path.
 * @param pid the server's
 * @param uid the user that it runs as, who owns the file
 */
export async function isServedBy(pid: number, uid: number, number: number): Promise<boolean> {
  const path = displaySocket(number);
  const info = await lstat(path).catch(() => null);
  return info?.isSocket() === true && info.uid === uid && listeningProcess(path) === pid;
}

export function displaySocket(number: number): string {
  return `${SOCKET_DIR}/X${number}`;
}

/**
 * What tells a display's socket from a later server's on the same number; null = no socket. The inode alone does not:
 * file systems give the number of a file that is gone to the next one.
 */
export async function socketMark(number: number): Promise<string | null> {
  try {
    const { ino, birthtimeNs } = await lstat(displaySocket(number), { bigint: true });
    return `${ino}-${birthtimeNs}`;
  } catch {
    return null;
  }
}

/**
 * Removes what a killed display server left in /tmp, and nothing of a server that has taken the number since.
 * Not every server keeps to the lock files (one with -displayfd does not), so the socket itself has to say whose it is.
 */
export async function removeDisplayFiles(display: DisplayRecord): Promise<void> {
  const { number, pid, socket } = display;
  if (socket !== null && (await socketMark(number)) === socket)
    await rm(displaySocket(number), { force: true });
  const lock = await readSharedFile(lockFile(number), LOCK_BYTES);
  if (lock.kind === 'read' && lockedBy(lock.bytes) === pid) await rm(lockFile(number), { force: true });
}

function lockFile(number: number): string {
  return `/tmp/.X${number}-lock`;
}

/**
 * What an X server without root's rights has xkbcomp write, and reads, at its start and when a client asks for it. Where
 * somebody has put something there the server does not start.
 */
function keymapFile(number: number): string {
  return `/tmp/server-${number}.xkm`;
}

/** The pid in ten columns, as every X server writes and reads it. */
function lockText(pid: number): string {
  return `${String(pid).padStart(10)}\n`;
}

/** NaN for what no X server writes. */
function lockedBy(lock: Buffer): number {
  const text = lock.toString('latin1').trim();
  return /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * The socket directory must be root's and open to all before a server without root's rights can use it. Its
 * maker may have had a umask, and its owner could replace the sockets of sessions with other ones.
 */
export async function makeSocketDir(directory = SOCKET_DIR): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const info = await lstat(directory).catch(() => null);
  // Root alone can put something else in its place.
  if (info?.isDirectory() && info.uid === 0 && (info.mode & 0o7777) === SOCKET_DIR_MODE) return;
  if (info !== null && !info.isDirectory()) await unlink(directory);
  await mkdir(directory, { recursive: true });
  const handle = await open(directory, constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const found = await handle.stat();
    if (found.uid !== 0) await handle.chown(0, 0);
    if (found.uid !== 0 || (found.mode & 0o7777) !== SOCKET_DIR_MODE) await handle.chmod(SOCKET_DIR_MODE);
  } finally {
    await handle.close();
  }
}
