import { lstatSync } from 'node:fs';
import {
  FULLY_INSTALLED,
  MAX_SCAN_REPORT_BYTES,
  type ScanEntry,
  type ScanTask,
} from '@footlight/protocol/agent';
import { cloneMarkOf } from '../linux/clone-mark.ts';
import { closeOpened, HomeTree, namesIn, type Opened, readText } from './home-tree.ts';
import { bareEntry, manifestId, readLibraryFolders, readManifest } from './manifests.ts';

/** Largest total size of all entries in bytes; the rest of the report is reserved for its other fields. */
const ENTRIES_BYTES = MAX_SCAN_REPORT_BYTES - 16 * 1024;
/** Largest number of listed folders per root; Steam's own limit is lower. Chosen, not measured. */
const MAX_FOLDERS = 64;
/** Largest number of faults listed in the report. */
const MAX_FAULTS = 4;
const LIST = 'libraryfolders.vdf';
/** Number of names read between two checks of the time limit. */
const NAMES_PER_LOOK = 256;

export interface ScanResult {
  /** false: the home could not be opened. */
  ok: boolean;
  /** false: a file could not be read, or a limit was reached. */
  complete: boolean;
  /** Description of the faults; "": no faults. */
  error: string;
  entries: ScanEntry[];
  /** Number of listed libraries that are outside of the home and are therefore not scanned. */
  outside: number;
}

/**
 * Reads the manifests of a Steam home and of its base: in the task's roots, and in the libraries listed in these roots.
 * All calls are synchronous, so it runs in a separate process.
 * @param clock returns monotonic milliseconds
 * @param limitMs time limit of the whole scan
 */
export function scanSteamLibrary(task: ScanTask, clock: () => number, limitMs: number): ScanResult {
  let tree: HomeTree;
  try {
    tree = new HomeTree(task.root_path, task.container_path, baseOf(task));
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return {
      ok: false,
      complete: false,
      error: `the home cannot be opened: ${code}`,
      entries: [],
      outside: 0,
    };
  }
  try {
    return new Scan(task, tree, clock, clock() + limitMs).run();
  } finally {
    tree.close();
  }
}

/** Base to read; null: none. A home that is a copy of its base has all files itself; the person deleted the others. */
const baseOf = ({ root_path, base_path }: ScanTask): string | null =>
  base_path === undefined || lstatSync(cloneMarkOf(root_path), { throwIfNoEntry: false })?.isFile()
    ? null
    : base_path;

/** Thrown to end a scan early; the titles found before are still reported. */
class LimitReached extends Error {}

class Scan {
  readonly #task: ScanTask;
  readonly #tree: HomeTree;
  readonly #clock: () => number;
  readonly #endMs: number;
  readonly #titles = new Map<string, ScanEntry>();
  readonly #faults: string[] = [];
  /** Directories that were read already, by device and inode. */
  readonly #seen = new Set<string>();
  #bytes = 0;
  #outside = 0;

  constructor(task: ScanTask, tree: HomeTree, clock: () => number, endMs: number) {
    this.#task = task;
    this.#tree = tree;
    this.#clock = clock;
    this.#endMs = endMs;
  }

  run(): ScanResult {
    const { baseProblem } = this.#tree;
    // The scan is then incomplete, so titles of the base do not count as removed.
    if (baseProblem !== null) this.#faults.push(`the base cannot be opened: ${baseProblem}`);
    try {
      for (const root of this.#task.relative_roots) {
        const names = root.split('/').filter((name) => name !== '');
        this.#readFolder(names, root, true);
      }
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error;
      this.#faults.unshift(error.message);
    }
    return {
      ok: true,
      complete: this.#faults.length === 0,
      error: this.#faults.slice(0, MAX_FAULTS).join('; '),
      entries: [...this.#titles.values()],
      outside: this.#outside,
    };
  }

  /** @param isRoot whether to read the folder's list of libraries too */
  #readFolder(names: readonly string[], label: string, isRoot: boolean): void {
    const found = this.#tree.open(names);
    if (found.kind === 'missing') return;
    if (found.kind === 'refused') {
      this.#faults.push(`${label}: ${found.why}`);
      return;
    }
    const { opened } = found;
    try {
      const key = `${opened.stats.dev}:${opened.stats.ino}`;
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
      if (!opened.stats.isDirectory()) {
        this.#faults.push(`${label}: no directory`);
        return;
      }
      this.#readManifests(opened, label);
      if (isRoot) this.#readList(opened, label);
    } finally {
      closeOpened(opened);
    }
  }

  #readManifests(directory: Opened, label: string): void {
    let looked = 0;
    try {
      for (const name of namesIn(directory)) {
        looked += 1;
        if (looked % NAMES_PER_LOOK === 0) this.#checkTime();
        const id = manifestId(name);
        if (id !== null) this.#readTitle(directory, name, id);
      }
    } catch (error) {
      if (error instanceof LimitReached) throw error;
      this.#faults.push(`${label}: ${(error as NodeJS.ErrnoException).code ?? 'cannot be listed'}`);
    }
  }

  #readTitle(directory: Opened, name: string, id: string): void {
    const found = this.#tree.openIn(directory, name);
    // The file was deleted in the meantime.
    if (found.kind === 'missing') return;
    if (found.kind === 'refused') {
      this.#add(bareEntry(id));
      return;
    }
    try {
      // A pipe, device or directory is not a manifest, even if its name matches.
      if (!found.opened.stats.isFile()) return;
      this.#add(readManifest(id, readText(found.opened, this.#task.max_manifest_bytes)));
    } finally {
      closeOpened(found.opened);
    }
    this.#checkTime();
  }

  /** If a title is in several libraries, the entry of the installed copy is used. */
  #add(entry: ScanEntry): void {
    const former = this.#titles.get(entry.external_id);
    if (former !== undefined && (isInstalled(former) || !isInstalled(entry))) return;
    if (former === undefined && this.#titles.size >= this.#task.max_entries)
      throw new LimitReached(`more than ${this.#task.max_entries} titles`);
    const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (this.#bytes + bytes > ENTRIES_BYTES) throw new LimitReached('the report is too long');
    this.#bytes += bytes;
    this.#titles.set(entry.external_id, entry);
  }

  #readList(directory: Opened, label: string): void {
    const found = this.#tree.openIn(directory, LIST);
    if (found.kind === 'missing') return;
    let folders: string[] | null = null;
    if (found.kind === 'opened') {
      const text = readText(found.opened, this.#task.max_manifest_bytes);
      closeOpened(found.opened);
      folders = text === null ? null : readLibraryFolders(text);
    }
    // The scan is reported as incomplete, because titles of the listed libraries would otherwise count as removed.
    if (folders === null) {
      this.#faults.push(`${label}/${LIST} cannot be read`);
      return;
    }
    if (folders.length > MAX_FOLDERS) this.#faults.push(`${label}/${LIST}: more than ${MAX_FOLDERS} folders`);
    for (const path of folders.slice(0, MAX_FOLDERS)) {
      const names = path.startsWith('/') ? this.#tree.mapAbsolute(path) : null;
      if (names === null) this.#outside += 1;
      else this.#readFolder([...names, 'steamapps'], `library ${names.join('/')}`, false);
    }
  }

  #checkTime(): void {
    if (this.#clock() > this.#endMs) throw new LimitReached('the time limit');
  }
}

const isInstalled = ({ state_flags }: ScanEntry): boolean =>
  Math.floor(state_flags / FULLY_INSTALLED) % 2 === 1;
