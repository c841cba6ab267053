import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, rm, rmdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { O_PATH } from '../linux/open-path.ts';
import { readSharedFile } from '../linux/shared-file.ts';
import { type HeldName, holdAbstractName, listeningProcess } from '../linux/unix-names.ts';
import { removeTree } from '../runtime/owned-files.ts';
import { readProcess } from '../runtime/proc-table.ts';

export const SOCKET_DIR = '/tmp/.X11-unix';
const SOCKET_DIR_MODE = 0o1777;
/** Number of display numbers for sessions: 0 to 999. */
export const DISPLAY_NUMBERS = 1_000;
/** Bytes read from a lock file; the lock file of an X server has 11. */
const LOCK_BYTES = 64;

/** Identifies one display server, even if its number and pid are used by another server later. */
export interface DisplayRecord {
  number: number;
  pid: number;
  /** Identity of the server's socket file, from socketMark(); null: the server has no socket. */
  socket: string | null;
}

/** A reserved display number. */
export interface ReservedDisplay {
  readonly number: number;
  /** Writes the server's pid into the lock file. */
  handOver(pid: number): Promise<void>;
  /**
   * Releases the abstract name. Call it after the display server has exited.
   *
   * Clients (libxcb) try to connect to this name first, although the server does not listen on it. Without the
   * reservation, an attacker could bind the name and receive the connections of the session's app and capture,
   * including the cookie. While this process reserves the name, clients are refused and use the socket file.
   */
  release(): void;
}

/**
 * Reserves a free display number: binds its abstract name, and creates its lock file like an X server.
 *
 * Any user can put files at these paths. The first pass skips numbers that look taken. If no number is free, a second
 * pass removes files that do not belong to a running server: links, pipes, directories, stale locks. If this process is
 * not permitted to remove a lock, the number is used without a lock, because the session's server does not use locks.
 * @returns null when no number is free
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

/** @returns null when the lock, socket or keyboard map of the number exists */
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

/** @returns null when a server uses the number, or its socket or keyboard map cannot be removed */
async function takeAfterClearing(number: number): Promise<{ lock: FileHandle | null } | null> {
  const socket = displaySocket(number);
  if (await listens(socket)) return null;
  await removeIfPossible(socket);
  await removeIfPossible(keymapFile(number));
  if ((await socketMark(number)) !== null || (await isThere(keymapFile(number)))) return null;
  await removeIfPossible(lockFile(number));
  return { lock: await makeLock(number) };
}

async function makeLock(number: number): Promise<FileHandle | null> {
  // Created exclusively (flag x), so that open(2) does not follow a link.
  const lock = await open(lockFile(number), 'wx', 0o644).catch(() => null);
  await lock?.write(lockText(process.pid), 0).catch(() => undefined);
  return lock;
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}

async function removeIfPossible(path: string): Promise<void> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return;
  const removal = info.isDirectory() ? rmdir(path).catch(() => removeTree(path)) : unlink(path);
  await removal.catch(() => undefined);
}

/** Whether a server accepts connections at this path. */
async function listens(path: string): Promise<boolean> {
  // A link is rejected, because it may point to another server's socket.
  if ((await lstat(path).catch(() => null))?.isSocket() !== true) return false;
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    // EAGAIN: a server listens, but its queue is full.
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code !== 'ECONNREFUSED'));
  });
}

/**
 * Whether the server with this pid accepts connections at the display's socket. Any user can put a socket or a link at
 * the path.
 * @param pid of the server
 * @param uid user of the server, which owns the socket file
 */
export async function isServedBy(pid: number, uid: number, number: number): Promise<boolean> {
  const path = displaySocket(number);
  const info = await lstat(path).catch(() => null);
  return info?.isSocket() === true && info.uid === uid && listeningProcess(path) === pid;
}

/**
 * Lets only the owner of a display's socket connect to it. X servers let all users connect, and accept only a few
 * hundred clients. So any user of the machine could use up all connections, even without a cookie.
 * @param uid user of the server, which owns the socket file
 * @returns false: the socket does not exist yet
 */
export async function closeSocketToOthers(number: number, uid: number): Promise<boolean> {
  // Uses the path of the descriptor, because the owner could put a link at the path of the socket.
  const file = await open(displaySocket(number), O_PATH | constants.O_NOFOLLOW).catch(() => null);
  if (file === null) return false;
  try {
    const info = await file.stat();
    if (!info.isSocket() || info.uid !== uid) return false;
    await chmod(`/proc/self/fd/${file.fd}`, 0o600);
    return true;
  } finally {
    await file.close();
  }
}

export function displaySocket(number: number): string {
  return `${SOCKET_DIR}/X${number}`;
}

/**
 * Identity of a display's socket file; null: the socket does not exist. If a later server creates a socket of the same
 * number, its identity differs. The inode number alone is not enough, because file systems reuse it.
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
 * Removes the files of a killed display server in /tmp, but not the files of a later server with the same number. Some
 * servers ignore lock files (for example with -displayfd), so the socket itself is compared.
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
 * Keyboard map file that xkbcomp writes for an X server that does not run as root. The server reads it at its start and
 * on request. If another file exists at this path, the server does not start.
 */
function keymapFile(number: number): string {
  return `/tmp/server-${number}.xkm`;
}

/** The pid in ten columns, the format of X lock files. */
function lockText(pid: number): string {
  return `${String(pid).padStart(10)}\n`;
}

/** Pid in an X server's lock file; NaN: the file has another format. */
function lockedBy(lock: Buffer): number {
  const text = lock.toString('latin1').trim();
  return /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * Creates the socket directory, which must be writable for all users. The owner of the directory can replace the
 * sockets of sessions, and would then receive the cookies of their clients. Therefore an agent that runs as root makes
 * root the owner and sets the mode, which an earlier umask may have changed. An agent that is not root refuses a
 * directory that belongs to another user.
 * @param uid user of this process
 * @throws with a remedy when the directory cannot be used
 */
export async function makeSocketDir(directory = SOCKET_DIR, uid = process.getuid?.() ?? 0): Promise<void> {
  if (uid !== 0) return requireOwnSocketDir(directory, uid);
  const info = await lstat(directory).catch(() => null);
  // A directory with this owner and mode is safe, because only root can replace it.
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

/** Creates the directory if it is missing. @throws with a remedy when another user could replace files in it */
async function requireOwnSocketDir(directory: string, uid: number): Promise<void> {
  const isMade = await mkdir(directory).then(
    () => true,
    () => false,
  );
  // chmod is necessary, because mkdir applies the umask.
  if (isMade) await chmod(directory, SOCKET_DIR_MODE);
  const info = await lstat(directory).catch(() => null);
  const isOpen = info === null || ((info.mode & 0o022) !== 0 && (info.mode & 0o1000) === 0);
  if (info?.isDirectory() && (info.uid === 0 || info.uid === uid) && !isOpen) return;
  throw new Error(
    `other users of this machine can replace displays in ${directory}: sudo rm -r ${directory} && sudo install -d -m 1777 ${directory}`,
  );
}
