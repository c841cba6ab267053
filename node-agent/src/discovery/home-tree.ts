import {
  closeSync,
  constants,
  fstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import { O_PATH } from '../linux/open-path.ts';

/** Largest number of links followed for one path: the kernel's own limit (path_resolution(7)). */
const MAX_LINKS = 40;
/** Largest number of names in a path, because each name costs a system call. Chosen, not measured. */
const MAX_DEPTH = 128;

/** An open file or directory, of the home, or of its base if the home does not have it. */
interface Layers {
  readonly fd: number;
  /** The directory of the base that is merged with this directory of the home; null: only `fd` is seen. */
  readonly below: number | null;
}

/** An open file or directory. Its owner closes it with `closeOpened`. */
export interface Opened extends Layers {
  readonly stats: Stats;
  /** Path below the home as a list of names, with all links resolved. */
  readonly parts: readonly string[];
}

/** refused: the path leads out of the home, or the file cannot be opened. */
export type Found =
  | { kind: 'opened'; opened: Opened }
  | { kind: 'missing' }
  | { kind: 'refused'; why: string };

type NotOpened = Exclude<Found, { kind: 'opened' }>;

/**
 * Opens files of a home for reading, with the files of its base that the home shows. The names of a path are opened one
 * by one, starting at the home's own descriptor, so that an app cannot redirect a path out of the home by creating or
 * replacing a link. A link is followed only if its target, as the app sees it, is in the home.
 *
 * Home and base are merged like overlayfs merges them: an entry of the home replaces the one of the base, a whiteout
 * hides it, and directories of both are merged. One difference: opaque directories (the attribute
 * `trusted.overlay.opaque`) are merged too, because Node cannot read attributes. So a title of the base may still be
 * found after a person has deleted its folder and made a new one.
 *
 * All calls are synchronous, so this class runs in a separate process: a hanging file system must not block the agent.
 */
export class HomeTree {
  readonly #root: Layers;
  /** Why the base is not read; null: it is read, or the home has none. */
  readonly baseProblem: string | null;
  readonly #rootPath: string;
  readonly #containerPath: string;

  /**
   * @param rootPath the home's directory on the host; must not be a link
   * @param containerPath the home's path as the app sees it
   * @param basePath the base's directory on the host; must not be a link; null: the home has no base
   * @throws the system's error when the home is missing or is not a directory
   */
  constructor(rootPath: string, containerPath: string, basePath: string | null = null) {
    this.#rootPath = rootPath;
    this.#containerPath = containerPath;
    const fd = openRoot(rootPath);
    let below: number | null = null;
    let problem: string | null = null;
    try {
      if (basePath !== null) below = openRoot(basePath);
    } catch (error) {
      problem = codeOf(error);
    }
    this.#root = { fd, below };
    this.baseProblem = problem;
  }

  close(): void {
    closeOpened(this.#root);
  }

  /** Converts an absolute path of the app to names below the home; null: the path is outside of the home. */
  mapAbsolute(path: string): string[] | null {
    const names = namesOf(path);
    for (const base of [this.#containerPath, this.#rootPath]) {
      const above = namesOf(base);
      if (above.every((name, at) => names[at] === name)) return names.slice(above.length);
    }
    return null;
  }

  /** Opens the file or directory at this path below the home. */
  open(names: readonly string[]): Found {
    let todo = [...names];
    for (let links = 0; links <= MAX_LINKS; links += 1) {
      const step = this.#walk(todo);
      if ('kind' in step) return step;
      todo = step.names;
    }
    return { kind: 'refused', why: 'too many links' };
  }

  /** Opens the entry `name` of an open directory. */
  openIn(directory: Opened, name: string): Found {
    const child = openEntry(directory, name);
    if ('kind' in child) return child;
    if (!child.stats.isSymbolicLink())
      return { kind: 'opened', opened: { ...child, parts: [...directory.parts, name] } };
    closeOpened(child);
    return this.open([...directory.parts, name]);
  }

  /** @returns the result, or, if a link was found, the path that results from its target */
  #walk(todo: readonly string[]): Found | { names: string[] } {
    if (todo.length > MAX_DEPTH) return { kind: 'refused', why: 'too deep' };
    const again = (fd: number) => openSync(`/proc/self/fd/${fd}`, O_PATH | constants.O_DIRECTORY);
    const { fd, below } = this.#root;
    let reached: Layers = { fd: again(fd), below: below === null ? null : again(below) };
    let stats = fstatSync(reached.fd);
    for (const [at, name] of todo.entries()) {
      const child = openEntry(reached, name);
      if ('kind' in child) {
        closeOpened(reached);
        return child;
      }
      if (child.stats.isSymbolicLink()) {
        closeOpened(child);
        const target = this.#targetOf(child.directory, todo.slice(0, at), name);
        closeOpened(reached);
        if (target === null) return { kind: 'refused', why: 'a link leads out of the home' };
        return { names: [...target, ...todo.slice(at + 1)] };
      }
      closeOpened(reached);
      reached = child;
      stats = child.stats;
    }
    return { kind: 'opened', opened: { ...reached, stats, parts: todo } };
  }

  /** Path below the home to which a link points; null: the target is outside of the home. */
  #targetOf(directory: number, parts: readonly string[], name: string): string[] | null {
    let target: string;
    try {
      target = readlinkSync(`/proc/self/fd/${directory}/${name}`);
    } catch {
      return null;
    }
    if (target.startsWith('/')) return this.mapAbsolute(target);
    const names = [...parts];
    for (const part of target.split('/')) {
      if (part === '' || part === '.') continue;
      if (part !== '..') names.push(part);
      else if (names.pop() === undefined) return null;
    }
    return names;
  }
}

/** Names of an absolute path, with "." and ".." resolved. */
function namesOf(path: string): string[] {
  const names: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') names.pop();
    else if (part !== '' && part !== '.') names.push(part);
  }
  return names;
}

const openRoot = (path: string): number =>
  openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'an unknown error';

export function closeOpened({ fd, below }: Layers): void {
  closeSync(fd);
  if (below !== null) closeSync(below);
}

/**
 * Opens an entry of a directory that may be merged with one of the base.
 * @returns `directory`: the one of the two directories that contains the entry
 */
function openEntry(
  { fd, below }: Layers,
  name: string,
): (Layers & { stats: Stats; directory: number }) | NotOpened {
  const own = openName(fd, name);
  if ('kind' in own) {
    if (own.kind !== 'missing' || below === null) return own;
    const ofBase = openName(below, name);
    return 'kind' in ofBase ? ofBase : { ...ofBase, below: null, directory: below };
  }
  if (isWhiteout(own.stats)) {
    closeSync(own.fd);
    return { kind: 'missing' };
  }
  const alone = { ...own, below: null, directory: fd };
  if (below === null || !own.stats.isDirectory()) return alone;
  const ofBase = openName(below, name);
  if (!('kind' in ofBase)) {
    if (ofBase.stats.isDirectory()) return { ...alone, below: ofBase.fd };
    closeSync(ofBase.fd);
  } else if (ofBase.kind === 'refused') {
    closeSync(own.fd);
    return ofBase;
  }
  return alone;
}

/** The device by which overlayfs stores that an entry of the base was deleted. */
const isWhiteout = (stats: Stats): boolean => stats.isCharacterDevice() && stats.rdev === 0;

/** Opens one name. This does not follow a link, read data, or cause an effect on a device or pipe. */
function openName(directory: number, name: string): { fd: number; stats: Stats } | NotOpened {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    return { kind: 'refused', why: 'no name of a file' };
  try {
    const fd = openSync(`/proc/self/fd/${directory}/${name}`, O_PATH | constants.O_NOFOLLOW);
    return { fd, stats: fstatSync(fd) };
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'missing' } : { kind: 'refused', why: code };
  }
}

/**
 * Names in a directory, in the order of the file system, then the names of the directory of the base that is merged
 * with it. A name in both comes twice. @throws the system's error
 */
export function* namesIn({ fd, below }: Layers): Generator<string> {
  for (const layer of below === null ? [fd] : [fd, below]) {
    const directory = opendirSync(`/proc/self/fd/${layer}`);
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry.name;
    } finally {
      directory.closeSync();
    }
  }
}

/**
 * Text of a regular file.
 * @returns null: longer than maxBytes, or unreadable
 */
export function readText({ fd, stats }: Opened, maxBytes: number): string | null {
  if (!stats.isFile() || stats.size > maxBytes) return null;
  let file: number;
  try {
    // Opened through the descriptor, which refers to the checked file even if an app has put another file at this path
    // since then.
    file = openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
  try {
    // Larger than the file, because the file may grow while it is read.
    const buffer = Buffer.alloc(Math.min(maxBytes, stats.size + 4096) + 1);
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(file, buffer, length, buffer.length - length, null);
      if (read === 0) return buffer.toString('utf8', 0, length);
      length += read;
    }
    return null;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}
