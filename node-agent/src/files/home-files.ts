import {
  closeSync,
  constants,
  type Dir,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  renameSync,
  rmdirSync,
  type Stats,
  statfsSync,
  unlinkSync,
} from 'node:fs';
import type { FileEntry, FileFailure } from '@footlight/protocol/files';
import { fileNames, isFileName, MAX_LISTED_FILES } from '@footlight/protocol/files';
import { O_PATH } from '../linux/open-path.ts';

const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
/** Largest number of names in a path, because each name costs a system call. Chosen, not measured. */
const MAX_DEPTH = 64;
/** Limit that lets a listing, with its JSON escapes, fit into one message of a data channel. */
const MAX_LISTING_CHARACTERS = 120_000;
/**
 * Largest number of entries read for one listing. It exceeds MAX_LISTED_FILES, because many names may have to be hidden
 * from viewers.
 */
const MAX_READ = 4 * MAX_LISTED_FILES;
/** Largest number of numbered names tried before a put fails. */
const MAX_COPIES = 100;
/** Name of an unfinished file. */
const PART = /^\.footlight-[0-9a-f]{16}\.part$/;

/** The reason why a viewer's request is refused. */
export class FileRefusal extends Error {
  constructor(readonly code: FileFailure) {
    super(code);
  }
}

/**
 * The files of a home, for the person who owns it. Each name of a path is opened relative to its directory's descriptor
 * without following links (O_NOFOLLOW), so an app cannot redirect a path out of the home by replacing a folder with a
 * link. Only regular files and folders are opened, because opening a pipe, device or socket may block or have an
 * effect.
 *
 * All calls are synchronous, so this class runs in a separate process. Owner: that process; close() frees the
 * descriptor. All members throw FileRefusal or the system's error.
 */
export class HomeFiles {
  readonly #root: number;
  readonly #token: () => string;
  /** Temporary names of the files that are being written. */
  readonly #parts = new Set<string>();

  /**
   * @param path the home's directory; must not be a link
   * @param token 16 random hex digits
   * @throws the system's error when the directory cannot be opened
   */
  constructor(path: string, token: () => string) {
    this.#root = openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    this.#token = token;
  }

  close(): void {
    closeSync(this.#root);
  }

  /** Free bytes of the file system, as available to users without root rights. */
  freeBytes(): number {
    const { bavail, bsize } = statfsSync(`/proc/self/fd/${this.#root}`);
    return bavail * bsize;
  }

  /**
   * Entries of a folder, in the order of the file system. Removes unfinished files that a killed process left. This is
   * safe, because only one process at a time writes to a home. Listings hide unfinished files, so a viewer could not
   * delete them.
   */
  list(path: string): { entries: FileEntry[]; truncated: boolean } {
    const folder = this.#folder(namesOf(path), false);
    const entries: FileEntry[] = [];
    let characters = 0;
    let read = 0;
    let directory: Dir | null = null;
    try {
      directory = opendirSync(at(folder));
      for (let next = directory.readSync(); next !== null; next = directory.readSync()) {
        if (++read > MAX_READ) return { entries, truncated: true };
        if (PART.test(next.name)) {
          if (next.isFile() && !this.#parts.has(next.name)) remove(folder, next.name);
          continue;
        }
        if (!isFileName(next.name)) continue;
        const entry = entryOf(folder, next.name);
        if (entry === null) continue;
        characters += JSON.stringify(entry).length + 1;
        if (entries.length === MAX_LISTED_FILES || characters > MAX_LISTING_CHARACTERS)
          return { entries, truncated: true };
        entries.push(entry);
      }
    } finally {
      directory?.closeSync();
      closeSync(folder);
    }
    return { entries, truncated: false };
  }

  /** Opens a regular file for reading. The caller closes it. */
  open(path: string): { fd: number; size: number } {
    const found = this.#find(namesOf(path));
    try {
      const stats = fstatSync(found);
      if (!stats.isFile()) throw new FileRefusal('not_allowed');
      // Opened through the descriptor, which refers to the checked file even if an app has put another file at this
      // path since then.
      const fd = openSync(at(found), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
      return { fd, size: stats.size };
    } finally {
      closeSync(found);
    }
  }

  /** Creates a temporary file next to its target, and the missing folders of the path. */
  create(path: string): NewFile {
    const names = namesOf(path);
    const name = names.pop();
    if (name === undefined) throw new FileRefusal('not_allowed');
    const folder = this.#folder(names, true);
    const part = `.footlight-${this.#token()}.part`;
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
    try {
      const fd = openSync(at(folder, part), flags, FILE_MODE);
      this.#parts.add(part);
      return new NewFile(folder, fd, part, [...names, name], () => void this.#parts.delete(part));
    } catch (error) {
      closeSync(folder);
      throw error;
    }
  }

  /** Deletes a regular file or an empty folder. */
  delete(path: string): void {
    const names = namesOf(path);
    const name = names.pop();
    if (name === undefined) throw new FileRefusal('not_allowed');
    const folder = this.#folder(names, false);
    try {
      const stats = lstatSync(at(folder, name));
      if (stats.isDirectory()) rmdirSync(at(folder, name));
      else if (stats.isFile()) unlinkSync(at(folder, name));
      else throw new FileRefusal('not_allowed');
    } finally {
      closeSync(folder);
    }
  }

  /** Gives a regular file or a folder another name in the same folder. Never replaces anything. */
  rename(path: string, name: string): void {
    const names = namesOf(path);
    const old = names.pop();
    if (old === undefined || PART.test(old)) throw new FileRefusal('not_allowed');
    checkNew([...names, name]);
    const folder = this.#folder(names, false);
    try {
      const stats = lstatSync(at(folder, old));
      if (!stats.isDirectory() && !stats.isFile()) throw new FileRefusal('not_allowed');
      replaceOwn(at(folder, old), at(folder, name), stats.isDirectory());
    } finally {
      closeSync(folder);
    }
  }

  /** Makes an empty folder. The folder around it must exist. */
  makeFolder(path: string): void {
    const names = namesOf(path);
    checkNew(names);
    const name = names.pop() ?? '';
    const folder = this.#folder(names, false);
    try {
      mkdirSync(at(folder, name), { mode: FOLDER_MODE });
    } finally {
      closeSync(folder);
    }
  }

  #folder(names: readonly string[], make: boolean): number {
    const found = this.#find(names, make);
    if (fstatSync(found).isDirectory()) return found;
    closeSync(found);
    throw new FileRefusal('not_found');
  }

  /** Opens the entry at this path without following links. @returns an O_PATH descriptor, which the caller closes */
  #find(names: readonly string[], make = false): number {
    if (names.length > MAX_DEPTH) throw new FileRefusal('not_allowed');
    let fd = openSync(at(this.#root), O_PATH | constants.O_DIRECTORY);
    for (const name of names) {
      let child: number;
      try {
        if (make) makeFolder(fd, name);
        child = openSync(at(fd, name), O_PATH | constants.O_NOFOLLOW);
      } finally {
        closeSync(fd);
      }
      fd = child;
      if (!fstatSync(fd).isSymbolicLink()) continue;
      closeSync(fd);
      throw new FileRefusal('not_allowed');
    }
    return fd;
  }
}

/**
 * A file that is written under a temporary name and gets its target's name when it is complete. The caller ends it with
 * keep() or discard(), which free its descriptors.
 */
export class NewFile {
  readonly fd: number;
  readonly #folder: number;
  readonly #part: string;
  readonly #names: readonly string[];
  readonly #ended: () => void;
  #open = true;

  constructor(folder: number, fd: number, part: string, names: readonly string[], ended: () => void) {
    this.fd = fd;
    this.#folder = folder;
    this.#part = part;
    this.#names = names;
    this.#ended = ended;
  }

  /**
   * Renames the file to its target's name, or to a numbered name if that name is taken.
   * @returns its path below the home
   */
  keep(): string {
    const folders = this.#names.slice(0, -1);
    const wanted = this.#names.at(-1) ?? '';
    try {
      for (let copy = 1; copy <= MAX_COPIES; copy++) {
        const name = copy === 1 ? wanted : numbered(wanted, copy);
        if (!isFileName(name) || !this.#link(name)) continue;
        return [...folders, name].join('/');
      }
      throw new FileRefusal('exists');
    } finally {
      this.discard();
    }
  }

  /** Removes the unfinished file. Repeatable. */
  discard(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#ended();
    remove(this.#folder, this.#part);
    closeSync(this.fd);
    closeSync(this.#folder);
  }

  /**
   * Creates a hard link instead of renaming, because a rename could replace another file.
   * @returns false: the name is taken
   */
  #link(name: string): boolean {
    try {
      // The app may have replaced the file at the temporary name. Only the file written here may get the target's name.
      if (fstatSync(this.fd).ino !== lstatSync(at(this.#folder, this.#part)).ino) throw new FileRefusal('io');
      linkSync(at(this.#folder, this.#part), at(this.#folder, name));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }
}

function namesOf(path: string): string[] {
  const names = fileNames(path);
  if (names === null) throw new FileRefusal('not_allowed');
  return names;
}

/**
 * Refuses a new path that a viewer could not use afterwards: one that is too long, or the name of an unfinished file,
 * which listings hide and remove.
 */
function checkNew(names: readonly string[]): void {
  const name = names.at(-1);
  if (name === undefined || !isFileName(name) || PART.test(name)) throw new FileRefusal('not_allowed');
  if (names.length > MAX_DEPTH || fileNames(names.join('/')) === null) throw new FileRefusal('not_allowed');
}

/**
 * Renames a file or folder without replacing another one; Node has no call for this. First creates an empty file or
 * folder with the new name, which fails if the name is taken, and then renames over it. The kernel replaces a folder
 * only if it is empty. So one race remains, which concerns only the same user's own files: an app that writes into the
 * empty file between the two calls loses this text.
 */
function replaceOwn(from: string, to: string, isFolder: boolean): void {
  if (isFolder) mkdirSync(to, { mode: FOLDER_MODE });
  else closeSync(openSync(to, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, FILE_MODE));
  try {
    renameSync(from, to);
  } catch (error) {
    try {
      if (isFolder) rmdirSync(to);
      else unlinkSync(to);
    } catch {
      // The app has already removed it, or filled the folder.
    }
    throw error;
  }
}

/** Path of the entry `name` in an open directory; without a name, the path of the open file or directory itself. */
function at(fd: number, name?: string): string {
  return name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`;
}

/** Removes an unfinished file, if the app has not moved or removed it. */
function remove(folder: number, part: string): void {
  try {
    unlinkSync(at(folder, part));
  } catch {
    // The app has moved or removed the file.
  }
}

function makeFolder(parent: number, name: string): void {
  try {
    // mkdir(2) never follows a link at the last name.
    mkdirSync(at(parent, name), { mode: FOLDER_MODE });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** @returns null: the entry was removed in the meantime */
function entryOf(folder: number, name: string): FileEntry | null {
  let stats: Stats;
  try {
    stats = lstatSync(at(folder, name));
  } catch {
    return null;
  }
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other';
  // A sparse file can be larger than the largest integer that a message can contain.
  const size = kind === 'file' ? Math.min(stats.size, Number.MAX_SAFE_INTEGER) : 0;
  return { name, kind, size, mtime_ms: Math.round(stats.mtimeMs) };
}

/** Inserts a number into a name: "report (2).pdf". */
function numbered(name: string, copy: number): string {
  const dot = name.lastIndexOf('.');
  const stem = dot > 0 ? name.slice(0, dot) : name;
  return `${stem} (${copy})${name.slice(stem.length)}`;
}
