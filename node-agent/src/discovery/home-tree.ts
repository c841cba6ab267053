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

/** An open file or directory. Its owner closes it. */
export interface Opened {
  readonly fd: number;
  readonly stats: Stats;
  /** Path below the home as a list of names, with all links resolved. */
  readonly parts: readonly string[];
}

/** refused: the path leads out of the home, or the file cannot be opened. */
export type Found =
  | { kind: 'opened'; opened: Opened }
  | { kind: 'missing' }
  | { kind: 'refused'; why: string };

/**
 * Opens files of a home for reading. The names of a path are opened one by one, starting at the home's own descriptor,
 * so that an app cannot redirect a path out of the home by creating or replacing a link. A link is followed only if its
 * target, as the app sees it, is in the home.
 *
 * All calls are synchronous, so this class runs in a separate process: a hanging file system must not block the agent.
 */
export class HomeTree {
  readonly #root: number;
  readonly #rootPath: string;
  readonly #containerPath: string;

  /**
   * @param rootPath the home's directory on the host; must not be a link
   * @param containerPath the home's path as the app sees it
   * @throws the system's error when the home is missing or is not a directory
   */
  constructor(rootPath: string, containerPath: string) {
    this.#rootPath = rootPath;
    this.#containerPath = containerPath;
    this.#root = openSync(rootPath, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  }

  close(): void {
    closeSync(this.#root);
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
    const child = openName(directory.fd, name);
    if ('kind' in child) return child;
    if (!child.stats.isSymbolicLink())
      return { kind: 'opened', opened: { ...child, parts: [...directory.parts, name] } };
    closeSync(child.fd);
    return this.open([...directory.parts, name]);
  }

  /** @returns the result, or, if a link was found, the path that results from its target */
  #walk(todo: readonly string[]): Found | { names: string[] } {
    if (todo.length > MAX_DEPTH) return { kind: 'refused', why: 'too deep' };
    let fd = openSync(`/proc/self/fd/${this.#root}`, O_PATH | constants.O_DIRECTORY);
    let stats = fstatSync(fd);
    for (const [at, name] of todo.entries()) {
      const child = openName(fd, name);
      if ('kind' in child) {
        closeSync(fd);
        return child;
      }
      if (child.stats.isSymbolicLink()) {
        closeSync(child.fd);
        const target = this.#targetOf(fd, todo.slice(0, at), name);
        closeSync(fd);
        if (target === null) return { kind: 'refused', why: 'a link leads out of the home' };
        return { names: [...target, ...todo.slice(at + 1)] };
      }
      closeSync(fd);
      ({ fd, stats } = child);
    }
    return { kind: 'opened', opened: { fd, stats, parts: todo } };
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

/** Opens one name. This does not follow a link, read data, or cause an effect on a device or pipe. */
function openName(
  directory: number,
  name: string,
): { fd: number; stats: Stats } | Exclude<Found, { kind: 'opened' }> {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    return { kind: 'refused', why: 'no name of a file' };
  try {
    const fd = openSync(`/proc/self/fd/${directory}/${name}`, O_PATH | constants.O_NOFOLLOW);
    return { fd, stats: fstatSync(fd) };
  } catch (error) {
    const { code = 'an unknown error' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'missing' } : { kind: 'refused', why: code };
  }
}

/** Names in a directory, in the order of the file system. @throws the system's error */
export function* namesIn({ fd }: Opened): Generator<string> {
  const directory = opendirSync(`/proc/self/fd/${fd}`);
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry.name;
  } finally {
    directory.closeSync();
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
