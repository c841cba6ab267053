import { chmod, chown, lstat, mkdir, readdir, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Clock, errorText, within } from '@footlight/platform';
import { baseEnvironment } from '../../runtime/confinement/command-line.ts';
import { CLOSED_WAY_MODE } from '../../runtime/process.ts';
import { startChild } from '../../runtime/programs/child.ts';
import { runProgram } from '../../runtime/programs/run-program.ts';
import type { SessionUser } from '../../runtime/runtime.ts';
import { codeOf } from './collection/descriptors.ts';
import { isBelow } from './home-path.ts';

/** A home cannot be used; the message contains path, reason, and the text of the cause. */
export class HomeError extends Error {
  constructor(message: string, cause?: unknown) {
    super(cause === undefined ? message : `${message}: ${errorText(cause)}`, { cause });
  }
}

/**
 * Directories of the host's system, state and users. Homes whose path comes from the control plane must not be in these
 * directories, because the control plane could otherwise give root's files to an app.
 */
const OF_THE_HOST = [
  ...['/proc', '/sys', '/dev', '/boot', '/etc', '/root', '/run', '/tmp', '/home', '/usr', '/bin', '/sbin'],
  ...[
    '/lib',
    '/lib32',
    '/lib64',
    '/libx32',
    '/var/run',
    '/var/lib',
    '/var/log',
    '/var/spool',
    '/var/tmp',
    '/var/cache',
  ],
];

/** Mode of a new directory on the path to a home, before the directory gets its own group. */
export const WAY_MODE = 0o711;
/**
 * Range of the groups of these directories. A group is computed from the directory's inode number, so that nothing must
 * be stored. If two directories get the same group, they only lose this protection from each other. Systems do not use
 * these ids. Source: systemd, "Users, Groups, UIDs and GIDs on systemd Systems", 1879048192 to 2147483646.
 */
const FIRST_WAY_GROUP = 1_879_048_192;
const WAY_GROUPS = 2 ** 28 - 1;

/** Whether a group is in this range. */
export const isWayGroup = (gid: number): boolean =>
  gid >= FIRST_WAY_GROUP && gid < FIRST_WAY_GROUP + WAY_GROUPS;

/** @throws HomeError when the path is in a directory of the host or of the agent */
export function refuseHostFolder(path: string, stateDir: string): void {
  const tree = [...OF_THE_HOST, stateDir].find((own) => path === own || path.startsWith(`${own}/`));
  if (tree !== undefined) throw new HomeError(`${path} lies in ${tree}, which is the host's own`);
}

/** Facts for checking homes below a root that the control plane chose. */
export interface ForeignHomes {
  /** Whether a group belongs to sessions, which distinguishes homes from other directories. */
  isSessionsGroup(gid: number): boolean;
  /** The agent's own directory. */
  stateDir: string;
}

/**
 * Opens a home: creates missing directories below the root, and makes the session's user the owner of the home, with
 * mode 0700.
 *
 * The path must not contain links. Only the agent can write above the home, so a link there is an attack or a mistake
 * and is refused. Parent directories that the agent created have mode 0710 and their own group. A session with this
 * group can traverse but not list them. So a home stays closed to other people's sessions, even if its app gives
 * everybody access.
 * @param foreign set if the control plane chose the root: then the owner of directories of the host, and of directories
 * that are not homes, is not changed; null: this host chose the root
 * @returns groups that the home's processes need to traverse the parent directories
 * @throws HomeError when the path is outside the root or is not a directory
 */
export async function openHome(
  root: string,
  ref: string,
  user: SessionUser | null,
  foreign: ForeignHomes | null = null,
): Promise<number[]> {
  if (!isBelow(root, ref)) throw new HomeError(`${ref} is not below the home root ${root}`);
  // An agent without root cannot change owners, so the checks are not necessary.
  const limits = user === null ? null : foreign;
  if (limits) refuseHostFolder(ref, limits.stateDir);
  await mkdir(root, { recursive: true, mode: 0o711 });
  const realRoot = await realpath(root);
  if (limits) refuseHostFolder(join(realRoot, relative(root, ref)), await realpath(limits.stateDir));
  const parts = relative(root, ref).split(sep);
  const groups: number[] = [];
  let path = realRoot;
  for (const [index, part] of parts.entries()) {
    path = join(path, part);
    const isHome = index === parts.length - 1;
    await makeDirectory(path, isHome ? 0o700 : WAY_MODE);
    if (user && !isHome) groups.push(...(await closeWay(path)));
  }
  if ((await realpath(path)) !== path) throw new HomeError(`${ref} leads out of the home root`);
  if (limits && !limits.isSessionsGroup((await lstat(path)).gid) && (await readdir(path)).length > 0)
    throw new HomeError(`${ref} is there already, and no home of a session`);
  if (user) await giveHome(path, user);
  else await chmod(path, 0o700);
  return groups;
}

/**
 * Makes the session's user the owner of a volume's directory, with mode 0700. The engine created this directory below
 * its own directory, which belongs to root.
 * @throws HomeError when the directory is not on this host
 */
export async function openVolumeHome(path: string, user: SessionUser | null): Promise<void> {
  const info = await lstat(path).catch(() => null);
  if (!info?.isDirectory()) throw new HomeError(`the engine's volume is not on this host: ${path}`);
  if (user) await giveHome(path, user);
}

/**
 * Closes a directory on the path to a home for everyone except its group. A directory that the agent did not create is
 * not changed.
 * @returns the directory's group; empty when the directory stays open
 * @throws HomeError when another user owns the directory, or the directory cannot be closed
 */
async function closeWay(path: string): Promise<number[]> {
  const { uid, gid, ino, mode } = await lstat(path);
  if (uid !== process.getuid?.()) throw new HomeError(`${path} on the way to a home belongs to another user`);
  const group = FIRST_WAY_GROUP + (ino % WAY_GROUPS);
  if ((mode & 0o7777) === CLOSED_WAY_MODE && gid === group) return [group];
  // The directory has its group but is still open, because an earlier agent ended between the two calls below.
  if ((mode & 0o7777) !== WAY_MODE || (gid !== group && gid !== process.getgid?.())) return [];
  try {
    await chown(path, uid, group);
  } catch (error) {
    // The group's id does not exist in this user namespace or mount, so the directory stays open.
    if (['EINVAL', 'EOVERFLOW'].includes(codeOf(error) ?? '')) return [];
    throw new HomeError(`${path} on the way to a home could not be closed`, error);
  }
  await chmod(path, CLOSED_WAY_MODE);
  return [group];
}

/**
 * Closes a home after its session's last process. Root becomes the owner of the directory, so that the next session
 * with this uid cannot enter. The uid stays stored as the directory's group, so that the next session of this home gets
 * the same uid.
 */
export async function closeHome(ref: string, user: SessionUser | null): Promise<void> {
  if (!user) return;
  const info = await lstat(ref);
  // A home that an earlier agent left may already be closed, or belong to another user.
  if (!info.isDirectory() || info.uid !== user.uid) return;
  await chown(ref, 0, user.gid);
  await chmod(ref, 0o700);
}

/**
 * The uid that owns the home's content; null: the home does not exist, or was never used.
 * @throws HomeError when the home cannot be read
 */
export async function lastOwner(ref: string): Promise<number | null> {
  try {
    const info = await lstat(ref);
    return info.isDirectory() && info.gid !== 0 ? info.gid : null;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return null;
    throw new HomeError(`${ref} cannot be read`, error);
  }
}

async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
    // chmod is necessary, because mkdir applies the umask.
    await chmod(path, mode);
    return;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const info = await lstat(path);
  if (!info.isDirectory())
    throw new HomeError(`${path} is ${info.isSymbolicLink() ? 'a link' : 'no directory'}`);
}

/** chown writes a line about each file that it cannot change. The first lines say enough, so it is ended after these. */
const CHOWN_OUTPUT_BYTES = 64 * 1024;

/** @throws HomeError when files of the home keep their former owner */
async function giveHome(path: string, user: SessionUser): Promise<void> {
  const { gid } = await lstat(path);
  if (gid !== user.gid) {
    // Changes the owner of files that belong to the former user or to an administrator, but not of hard links that an
    // app made to files of others.
    //
    // chown(1) works with descriptors. A program that uses paths could follow a link that replaces a directory: a
    // process of another session may have entered the home while it was open to others, and may still be in it.
    const result = await runProgram(
      'chown',
      ['-R', '-P', '-h', `--from=:${gid}`, '--', `${user.uid}:${user.gid}`, path],
      { maxBytes: CHOWN_OUTPUT_BYTES },
    );
    if (result.kind !== 'ok')
      throw new HomeError(`${path} could not be given to the session's user`, new Error(result.why));
  }
  await chown(path, user.uid, user.gid);
  await chmod(path, 0o700);
}

/** Size of a home in bytes; null: it was not determined within limitMs. */
export async function homeBytes(path: string, clock: Clock, limitMs: number): Promise<number | null> {
  let output = '';
  const child = await startChild(['nice', '-n', '19', 'du', '-sxB1', '--', path], {
    env: baseEnvironment(process.env),
    cwd: '/',
    clock,
    onOutput: (chunk) => {
      if (output.length < 256) output += chunk.toString('latin1');
    },
  });
  const finished = Promise.all([child.exited, child.drained]);
  const exit = await within(
    clock,
    limitMs,
    finished.then(([ended]) => ended),
    null,
  );
  if (exit === null) child.signal('SIGKILL');
  const bytes = Number(/^(\d+)\s/.exec(output)?.[1] ?? Number.NaN);
  return exit?.code === 0 && Number.isSafeInteger(bytes) ? bytes : null;
}
