/**
 * Moves the directory of a home aside for its deletion, and back: `<home>` is renamed to `.trash-<id>` in the same
 * directory. Links, mounts and directories that are not homes are refused with a reason; then nothing is changed.
 */
import type { BigIntStats } from 'node:fs';
import { lstatSync, rmdirSync, rmSync } from 'node:fs';
import {
  type FileHandle,
  lstat,
  opendir,
  readFile,
  readlink,
  realpath,
  rename,
  writeFile,
} from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isWireUuid } from '@footlight/protocol';
import { cloneMarkName } from '../../../linux/clone-mark.ts';
import { CLOSED_WAY_MODE } from '../../../runtime/process.ts';
import { type ForeignHomes, HomeError, isWayGroup, refuseHostFolder, WAY_MODE } from '../home.ts';
import { isBelow } from '../home-path.ts';
import { codeOf, entryOf, entryStats, isEmpty, openBelow, syncDirectory } from './descriptors.ts';
import { mountPoints, mountWithin } from './mounts.ts';

const TRASH_PREFIX = '.trash-';
const PERMISSIONS = 0o7777n;

export const trashName = (id: string): string => `${TRASH_PREFIX}${id}`;

/** Place of a home: names of directories below the root, with links resolved. */
export interface HomePlace {
  /** The root, with links resolved. */
  root: string;
  /** Names of the directories between the root and the home. */
  way: string[];
  name: string;
}

/** A home cannot be collected now; the message contains reason and path. Nothing was changed. */
export class CollectionError extends Error {}

/**
 * A marker file in the root. If it is missing, the root may be the empty directory on which the disk should be mounted.
 */
const ROOT_MARK = '.footlight-homes';

/**
 * Computes the place of a home from its path; only links in the root are resolved.
 * @param foreign set if the control plane chose the root
 * @throws CollectionError when the path is outside the root, or when the root seems not to contain the homes now
 */
export async function placeOf(
  root: string,
  ref: string,
  stateDir: string,
  foreign: ForeignHomes | null,
): Promise<HomePlace> {
  if (!isBelow(root, ref)) throw new CollectionError(`${ref} is not below the home root ${root}`);
  const realRoot = await realpath(root).catch(() => null);
  const realState = await realpath(stateDir);
  if (realRoot === null || !(await isInUse(realRoot, realState)))
    throw new CollectionError(`the home root ${root} is missing or empty; is its disk mounted?`);
  if (foreign) {
    try {
      refuseHostFolder(ref, stateDir);
      refuseHostFolder(join(realRoot, relative(root, ref)), realState);
    } catch (error) {
      if (error instanceof HomeError) throw new CollectionError(error.message);
      throw error;
    }
  }
  const way = relative(root, ref).split(sep);
  return { root: realRoot, name: way.pop() as string, way };
}

/**
 * Whether a root contains or once contained homes. If the root's disk is not mounted, the root is empty. Then all its
 * homes would count as deleted: their records would be deleted, and their files would stay forever.
 */
async function isInUse(root: string, stateDir: string): Promise<boolean> {
  if (isBelow(stateDir, root)) return true;
  const mark = join(root, ROOT_MARK);
  if (await lstat(mark).catch(() => null)) return true;
  if (await isEmpty(root)) return false;
  await writeFile(mark, '', { flag: 'wx', mode: 0o600 }).catch(() => undefined);
  return true;
}

/** Conditions under which a home is not collected. */
export interface SetAsideLimits {
  /** Set if the control plane chose the root. */
  foreign: ForeignHomes | null;
  /** Homes that sessions use. */
  held: readonly string[];
}

/**
 * Moves a home aside. Resolves when the move would survive a power loss; before that, the home's record must not be
 * deleted.
 * @param note called before the move; if it throws, the home is not moved
 * @returns false: the directory does not exist
 * @throws CollectionError when the home must not or cannot be moved
 */
export async function setAside(
  place: HomePlace,
  id: string,
  limits: SetAsideLimits,
  note: () => Promise<void>,
): Promise<boolean> {
  return within(place, async (parent) => {
    const seen = parent && (await entryStats(parent, place.name));
    if (!parent || !seen) return false;
    await refuse(place, parent, seen, limits);
    const trash = trashName(id);
    if (await entryStats(parent, trash))
      throw new CollectionError(`${join(place.root, ...place.way, trash)} is there already`);
    await note();
    await rename(entryOf(parent, place.name), entryOf(parent, trash));
    await syncDirectory(parent);
    return true;
  });
}

/** Moves a home back. @returns false: its path is taken, or the home does not exist any more; nothing was changed */
export async function putBack(place: HomePlace, id: string): Promise<boolean> {
  return within(place, async (parent) => {
    if (!parent || (await entryStats(parent, place.name))) return false;
    await rename(entryOf(parent, trashName(id)), entryOf(parent, place.name));
    await syncDirectory(parent);
    return true;
  });
}

/** Whether the home is moved aside, and whether its path is taken. */
export async function lookAt(place: HomePlace, id: string): Promise<{ isAside: boolean; isTaken: boolean }> {
  return within(place, async (parent) => {
    if (!parent) return { isAside: false, isTaken: false };
    const [trash, home] = [await entryStats(parent, trashName(id)), await entryStats(parent, place.name)];
    return { isAside: trash !== null, isTaken: home !== null };
  });
}

/**
 * Removes the mark of a deleted home that was a copy of its base. If a new home is at this place, the mark is that
 * home's and stays. Check and removal are synchronous, so that a session cannot create a home in between.
 * @throws CollectionError when the mark cannot be removed
 */
export async function removeCloneMark(place: HomePlace): Promise<void> {
  await within(place, async (parent) => {
    if (!parent || lstatSync(entryOf(parent, place.name), { throwIfNoEntry: false })) return;
    rmSync(entryOf(parent, cloneMarkName(place.name)), { force: true });
  });
}

/**
 * Removes the parent directory of a home if the agent created this directory and it is empty, because the directory's
 * name identifies the person. Check and removal are synchronous, so that a session cannot create a home in the
 * directory in between.
 * @param isFree whether no session uses a home below this directory
 */
export async function removeEmptyWay({ root, way }: HomePlace, isFree: () => boolean): Promise<void> {
  const [name, above] = [way.at(-1), way.slice(0, -1)];
  const parent = name === undefined ? null : await openBelow(root, above);
  if (!parent || name === undefined) return;
  try {
    const path = entryOf(parent, name);
    if (!isFree() || !isWay(lstatSync(path, { bigint: true }))) return;
    rmdirSync(path);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error;
  } finally {
    await parent.close();
  }
}

/**
 * Finds homes that were moved aside below a root, with or without a note. Searches the places where homes can be: the
 * root and one level below. Unreadable entries are omitted.
 */
export async function* findSetAside(root: string): AsyncGenerator<{ id: string; way: string[] }> {
  for await (const name of directoriesIn(root)) {
    const id = idOfTrash(name);
    if (id !== null) yield { id, way: [] };
    else if (await isWayAt(join(root, name))) {
      for await (const inner of directoriesIn(join(root, name))) {
        const innerId = idOfTrash(inner);
        if (innerId !== null) yield { id: innerId, way: [name] };
      }
    }
  }
}

function idOfTrash(name: string): string | null {
  const id = name.startsWith(TRASH_PREFIX) ? name.slice(TRASH_PREFIX.length) : '';
  return isWireUuid(id) ? id : null;
}

async function* directoriesIn(path: string): AsyncGenerator<string> {
  const directory = await opendir(path).catch(() => null);
  if (directory === null) return;
  for await (const entry of directory) if (entry.isDirectory()) yield entry.name;
}

/** Only directories that the agent created are searched, because a directory of an app may contain any names. */
const isWayAt = async (path: string): Promise<boolean> =>
  lstat(path, { bigint: true }).then(isWay, () => false);

/**
 * Whether the agent created this directory on the path to homes. If the agent is not root, only the mode shows this.
 */
function isWay({ mode, uid, gid }: BigIntStats): boolean {
  const permissions = Number(mode & PERMISSIONS);
  if (Number(uid) !== process.getuid?.()) return false;
  if (permissions === CLOSED_WAY_MODE) return isWayGroup(Number(gid));
  return permissions === WAY_MODE;
}

async function within<T>(place: HomePlace, work: (parent: FileHandle | null) => Promise<T>): Promise<T> {
  const path = () => join(place.root, ...place.way, place.name);
  let parent: FileHandle | null = null;
  try {
    parent = await openBelow(place.root, place.way);
    return await work(parent);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || error instanceof CollectionError) throw error;
    throw new CollectionError(`${path()}: ${WORDS[code] ?? (error as Error).message}`);
  } finally {
    await parent?.close();
  }
}

/** Texts for errors that an administrator can repair. */
const WORDS: Record<string, string> = {
  EPERM: 'may not be moved; is it immutable (lsattr)?',
  EBUSY: 'a file system is mounted on it',
  EROFS: 'its file system is read-only',
  ELOOP: 'a link is on the way to it',
  ENOTDIR: 'a part of the way to it is no directory',
};

/** @throws CollectionError unless the directory is a closed home of this host */
async function refuse(
  place: HomePlace,
  parent: FileHandle,
  seen: BigIntStats,
  { foreign, held }: SetAsideLimits,
): Promise<void> {
  const path = join(await readlink(`/proc/self/fd/${parent.fd}`), place.name);
  if (!seen.isDirectory())
    throw new CollectionError(`${path} is ${seen.isSymbolicLink() ? 'a link' : 'no directory'}`);
  for (const home of held) {
    const other = await lstat(home, { bigint: true }).catch(() => null);
    if (other && other.dev === seen.dev && other.ino === seen.ino)
      throw new CollectionError(`${path} is the home of a session, ${home}`);
  }
  const mount = mountWithin(path, mountPoints(await readFile('/proc/self/mountinfo', 'utf8')));
  if (mount !== null) throw new CollectionError(`${path}: a file system is mounted at ${mount}; unmount it`);
  // Refused, because moving this directory with the agent's rights would move all homes in it.
  if (process.getuid?.() === 0 && isWay(seen))
    throw new CollectionError(`${path} is a directory above homes`);
  if (foreign && process.getuid?.() === 0) {
    if (foreign.isSessionsGroup(Number(seen.gid)) || (await isEmpty(entryOf(parent, place.name)))) return;
    throw new CollectionError(`${path} is no home of a session`);
  }
}
