/**
 * Moves the directory of a home aside for its deletion, and back: `<home>` is renamed to `.trash-<id>` in the same
 * directory. Links, mounts and foreign directories are refused with a reason, and nothing is changed then.
 */
import type { BigIntStats } from 'node:fs';
import { lstatSync, rmdirSync } from 'node:fs';
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
import { CLOSED_WAY_MODE } from '../../../runtime/process.ts';
import { type ForeignHomes, HomeError, isWayGroup, refuseHostFolder, WAY_MODE } from '../home.ts';
import { isBelow } from '../home-path.ts';
import { codeOf, entryOf, entryStats, openBelow, syncDirectory } from './descriptors.ts';
import { mountPoints, mountWithin } from './mounts.ts';

const TRASH_PREFIX = '.trash-';
const PERMISSIONS = 0o7777n;

export const trashName = (id: string): string => `${TRASH_PREFIX}${id}`;

/** Place of a home: names below the root, without links. */
export interface HomePlace {
  /** The root without links. */
  root: string;
  /** Names of the directories between root and home. */
  way: string[];
  name: string;
}

/** A home that cannot be collected now; the message gives reason and path. Nothing was changed. */
export class CollectionError extends Error {}

/** A file in the root. Without it, the root may be the empty directory on which its disk is mounted. */
const ROOT_MARK = '.footlight-homes';

/**
 * The place of a home, computed from its path; only links of the root are resolved.
 * @param foreign set if the control plane chose the root
 * @throws CollectionError for a path outside the root, or when the root cannot be trusted to hold the homes now
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
 * Whether a root contains homes, or did earlier. An empty root means that its disk is not mounted: all its homes would
 * count as gone, so their records would be deleted and their files would stay forever.
 */
async function isInUse(root: string, stateDir: string): Promise<boolean> {
  if (isBelow(stateDir, root)) return true;
  const mark = join(root, ROOT_MARK);
  if (await lstat(mark).catch(() => null)) return true;
  if (await isEmpty(root)) return false;
  await writeFile(mark, '', { flag: 'wx', mode: 0o600 }).catch(() => undefined);
  return true;
}

async function isEmpty(path: string): Promise<boolean> {
  const directory = await opendir(path);
  try {
    return (await directory.read()) === null;
  } finally {
    await directory.close();
  }
}

/** Conditions under which a home is not collected. */
export interface SetAsideLimits {
  /** Set if the control plane chose the root. */
  foreign: ForeignHomes | null;
  /** Homes of sessions. */
  held: readonly string[];
}

/**
 * Moves a home aside. Returns when the move would survive a power loss; only then its record may be deleted.
 * @param note called before the move; the home stays where it is when it throws
 * @returns false: there is no such directory
 * @throws CollectionError when it must not or cannot be moved
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

/** @returns false: its place is taken, or it is gone; nothing was changed */
export async function putBack(place: HomePlace, id: string): Promise<boolean> {
  return within(place, async (parent) => {
    if (!parent || (await entryStats(parent, place.name))) return false;
    await rename(entryOf(parent, trashName(id)), entryOf(parent, place.name));
    await syncDirectory(parent);
    return true;
  });
}

/** Whether the home is set aside, and whether its place is taken. */
export async function lookAt(place: HomePlace, id: string): Promise<{ isAside: boolean; isTaken: boolean }> {
  return within(place, async (parent) => {
    if (!parent) return { isAside: false, isTaken: false };
    const [trash, home] = [await entryStats(parent, trashName(id)), await entryStats(parent, place.name)];
    return { isAside: trash !== null, isTaken: home !== null };
  });
}

/**
 * Removes the parent directory of a home if the agent created it and it is empty, because its name identifies the
 * person. Check and removal are synchronous, so that no session creates its home there in between.
 * @param isFree whether no session holds a home below that directory
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
 * Finds homes set aside below a root, including those without a note. Searches where homes can be: in the root and one
 * level below. Unreadable entries are omitted.
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

/** Only directories that the agent created are searched: an app's directory may contain any names. */
const isWayAt = async (path: string): Promise<boolean> =>
  lstat(path, { bigint: true }).then(isWay, () => false);

/** Whether the agent created this directory on the path to homes. Without root, only the mode shows it. */
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

/** Errors that an administrator can fix. */
const WORDS: Record<string, string> = {
  EPERM: 'may not be moved; is it immutable (lsattr)?',
  EBUSY: 'a file system is mounted on it',
  EROFS: 'its file system is read-only',
  ELOOP: 'a link is on the way to it',
  ENOTDIR: 'a part of the way to it is no directory',
};

/** @throws CollectionError unless it is a closed home of this host */
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
  // With the agent's rights, moving a parent directory would move all homes in it.
  if (process.getuid?.() === 0 && isWay(seen))
    throw new CollectionError(`${path} is a directory above homes`);
  if (foreign && process.getuid?.() === 0) {
    if (foreign.isSessionsGroup(Number(seen.gid)) || (await isEmpty(entryOf(parent, place.name)))) return;
    throw new CollectionError(`${path} is no home of a session`);
  }
}
