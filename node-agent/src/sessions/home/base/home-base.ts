import { constants } from 'node:fs';
import {
  chmod,
  type FileHandle,
  lstat,
  open,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join, sep } from 'node:path';
import { SECOND_MS } from '@footlight/platform';
import { cloneMarkOf } from '../../../linux/clone-mark.ts';
import { removeTree } from '../../../runtime/owned-files.ts';
import { runProgram } from '../../../runtime/programs/run-program.ts';
import type { SessionUser } from '../../../runtime/runtime.ts';
import { codeOf, entryOf, entryStats, isEmpty } from '../collection/descriptors.ts';
import { mountPoints, mountWithin } from '../collection/mounts.ts';
import { HomeError, refuseHostFolder } from '../home.ts';
import {
  type BaseDirectory,
  type BaseFacts,
  decideBase,
  refuseBasePath,
  refuseOpenBase,
} from './base-rules.ts';
import { cloneOf, mountOverlay, type Overlay } from './overlay.ts';

/** A home cannot be opened over its base; the message contains the base and the reason. */
export class HomeBaseError extends HomeError {}

/** Empty file by which a host's administrator permits that a directory is a base. */
export const BASE_MARK = '.footlight-base';
/**
 * Time limit of each of the two programs of a copy, which shares the blocks of all files. Together they must end before
 * the control plane ends a start without a report (90 s).
 */
const CLONE_MS = 40 * SECOND_MS;
/** cp writes a line about each file that it cannot copy. The first lines say enough. */
const CLONE_OUTPUT_BYTES = 64 * 1024;
const PERMISSIONS = 0o7777n;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A home that is opened over a base. */
export interface HomeOverBase {
  base: string;
  provider: BaseFacts['provider'];
  /** The home's own directory, open to the user, without links. */
  home: string;
  homeRoot: string;
  stateDir: string;
  user: SessionUser | null;
  /** Directory for mount points, which only the agent can change. */
  mounts: string;
  /** Distinguishes the homes of a session. */
  number: number;
  /** Why an overlay is not possible for this app or agent; null: it is. */
  overlayProblem: string | null;
}

/**
 * Opens a home over its base.
 * @param ended its abort ends a copy
 * @returns the mounted overlay; null: the home is a copy of the base
 * @throws HomeBaseError when the base cannot be used; then the home is unchanged
 */
export async function openOverBase(order: HomeOverBase, ended: AbortSignal): Promise<Overlay | null> {
  const { base, provider, home, mounts, number } = order;
  const facts: BaseFacts = {
    provider,
    home: provider === 'volume' ? 'used' : await stateOf(home),
    overlayProblem: order.overlayProblem,
    cloneProblem: null,
  };
  let opened: FileHandle | null = null;
  try {
    for (;;) {
      const plan = decideBase(facts);
      if (plan.kind === 'refuse') throw new HomeBaseError(plan.why);
      if (plan.kind === 'keep') return null;
      opened ??= await openBase(order);
      if (plan.kind === 'overlay') {
        const overlay = await mountOverlay(opened, home, mounts, number);
        if (!('why' in overlay)) return overlay;
        facts.overlayProblem = overlay.why;
      } else {
        facts.cloneProblem = await clone(opened, order, ended);
        if (facts.cloneProblem === null) return null;
      }
    }
  } catch (error) {
    throw new HomeBaseError(`the base ${base} of the home cannot be used`, error);
  } finally {
    await opened?.close();
  }
}

/** @throws when the directory may not be a base */
async function openBase({ base, homeRoot, stateDir }: HomeOverBase): Promise<FileHandle> {
  const own = { homeRoot: await realpath(homeRoot), stateDir: await realpath(stateDir) };
  const overlap = refuseBasePath(base, { homeRoot, stateDir }) ?? refuseBasePath(base, own);
  if (overlap !== null) throw new HomeError(overlap);
  refuseHostFolder(base, stateDir);
  const { handle, directories } = await openEach(base);
  try {
    const mark = await entryStats(handle, BASE_MARK);
    const agentUid = process.getuid?.() ?? 0;
    if (!mark?.isFile() || (agentUid === 0 && mark.uid !== 0n))
      throw new HomeError(`this host does not permit it; create the file ${join(base, BASE_MARK)} as root`);
    const isOpen = refuseOpenBase(directories, agentUid);
    if (isOpen !== null) throw new HomeError(isOpen);
    const points = mountPoints(await readFile('/proc/self/mountinfo', 'utf8'));
    // Neither an overlay nor a copy of blocks would contain the files of this mount.
    const inside = mountWithin(
      base,
      points.filter((point) => point !== base),
    );
    if (inside !== null) throw new HomeError(`a file system is mounted in it, at ${inside}`);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Opens an absolute path, one directory after the other, so that no part of it can be a link.
 * @returns handle of the last directory, which the caller closes; all directories of the path, from the root
 * @throws HomeError when a part is missing, is a link or is no directory
 */
async function openEach(path: string): Promise<{ handle: FileHandle; directories: BaseDirectory[] }> {
  const directories: BaseDirectory[] = [];
  let handle = await open('/', DIRECTORY);
  try {
    let reached = '';
    for (const name of ['', ...path.split(sep).slice(1)]) {
      if (name !== '') {
        reached = `${reached}/${name}`;
        const next = await open(entryOf(handle, name), DIRECTORY).catch((error: unknown) => {
          throw new HomeError(`${reached} ${PROBLEMS[codeOf(error) ?? ''] ?? 'cannot be opened'}`, error);
        });
        await handle.close();
        handle = next;
      }
      const { uid, gid, mode } = await handle.stat({ bigint: true });
      directories.push({
        path: reached || '/',
        uid: Number(uid),
        gid: Number(gid),
        mode: Number(mode & PERMISSIONS),
      });
    }
    return { handle, directories };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is a link or no directory',
  ELOOP: 'is a link',
  EACCES: 'is closed to the user of the agent',
};

async function stateOf(home: string): Promise<BaseFacts['home']> {
  const mark = cloneMarkOf(home);
  if (!(await isEmpty(home))) return (await lstat(mark).catch(() => null))?.isFile() ? 'cloned' : 'used';
  // The mark of an earlier home at this path, or of a copy that was cut off: files that come later are no copy.
  await rm(mark, { force: true });
  return 'empty';
}

/**
 * Replaces an empty home by a copy of the base that shares its blocks. The copy is complete before it gets the home's
 * path, so a copy that was cut off is never used.
 * @returns the reason for which it cannot be copied; null: the home is the copy
 */
async function clone(
  base: FileHandle,
  { base: path, home, user }: HomeOverBase,
  ended: AbortSignal,
): Promise<string | null> {
  const copy = cloneOf(home);
  const run = (program: string, args: readonly string[]) =>
    runProgram(program, args, { limitMs: CLONE_MS, maxBytes: CLONE_OUTPUT_BYTES, ended });
  const steps = [
    () =>
      run('cp', [
        ...['--recursive', '--no-dereference', '--reflink=always', '--preserve=mode,timestamps,links'],
        ...['--no-target-directory', '--', `/proc/${process.pid}/fd/${base.fd}/.`, copy],
      ]),
    // The copy belongs to root, and nothing else can reach it before it has the home's path.
    ...(user === null ? [] : [() => run('chown', ['-R', '-P', '-h', '--', `${user.uid}:${user.gid}`, copy])]),
  ];
  await removeTree(copy);
  try {
    for (const step of steps) {
      const result = await step();
      if (result.kind !== 'ok') return ended.aborted ? 'the session ended' : result.why;
    }
    await chmod(copy, 0o700);
    // Written before the copy gets the home's path, because a mark next to an empty home has no effect.
    await writeFile(cloneMarkOf(home), `${path}\n`, { flag: 'wx', mode: 0o600 });
    await rename(copy, home);
    return null;
  } finally {
    await removeTree(copy);
  }
}
