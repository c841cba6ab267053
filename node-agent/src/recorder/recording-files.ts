import { constants, type Stats, statfsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, type Logger } from '@footlight/platform';
import { MAX_RECORDING_BYTES, RECORDING_KEPT_MS } from '@footlight/protocol/agent';

/** Bytes that recordings must leave free on the disk of the state directory. Chosen, not measured. */
const FREE_BYTES = 2 * 1024 * 1024 * 1024;
/** Largest total size of all recordings of a host: 56 of the longest ones. Chosen, not measured. */
const TOTAL_BYTES = 4 * 1024 * 1024 * 1024;

const WHOLE = /^([0-9a-f-]{36})\.mp4$/;
/** Name of an unfinished file: its writer was interrupted or is still running. */
const PART = /^[0-9a-f-]{36}\.part$/;

export interface RecordingFilesOptions {
  stateDir: string;
  logger: Logger;
  nowMs(): number;
  /** Free bytes of a directory's disk. Default: queries the file system. */
  freeBytes?: (dir: string) => number;
}

/** An open recording. The caller closes the file. */
export interface OpenRecording {
  file: FileHandle;
  bytes: number;
}

/**
 * Files of recordings in the folder `recordings` of the state directory, which only the agent's user may read (0700,
 * files 0600). Each recording is one file, whose name is the recording's id. A file is kept for 24 h after its last
 * change. Ids are lower-case uuids, so a name cannot lead out of the directory. Owner: the flight recorder.
 */
export class RecordingFiles {
  readonly #dir: string;
  readonly #logger: Logger;
  readonly #nowMs: () => number;
  readonly #freeBytes: (dir: string) => number;

  constructor({ stateDir, logger, nowMs, freeBytes = freeBytesOf }: RecordingFilesOptions) {
    this.#dir = join(stateDir, 'recordings');
    this.#logger = logger;
    this.#nowMs = nowMs;
    this.#freeBytes = freeBytes;
  }

  /** Deletes unfinished files of a former process and files that are too old. Call once, before the first write. */
  async open(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    await this.#each(async (name) => {
      if (PART.test(name)) await this.#remove(name);
    });
    await this.sweep();
  }

  /** Deletes recordings older than 24 h. Never rejects. */
  async sweep(): Promise<void> {
    await this.#each(async (name) => {
      if (!WHOLE.test(name)) return;
      const stats = await lstat(join(this.#dir, name));
      if (this.#isExpired(stats)) await this.#remove(name);
    });
  }

  /**
   * Creates the file of a recording.
   * @throws with a message for people when the disk is too full or the recordings take too much space
   */
  async create(id: string): Promise<FileHandle> {
    // Not recursive: if the state directory does not exist any more, the host was removed, and the new file would never
    // be deleted.
    await mkdir(this.#dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (this.#freeBytes(this.#dir) < FREE_BYTES + MAX_RECORDING_BYTES)
      throw new Error('the disk of the host has too little free space');
    let total = 0;
    await this.#each(async (name) => {
      total += (await lstat(join(this.#dir, name))).size;
    });
    if (total > TOTAL_BYTES - MAX_RECORDING_BYTES)
      throw new Error('the recordings of the host take all the space that they may');
    await this.#remove(`${id}.part`);
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_NOFOLLOW;
    return open(join(this.#dir, `${id}.part`), flags, 0o600);
  }

  /** Gives a written file its final name. @returns its length @throws when the file is empty or cannot be renamed */
  async keep(id: string, file: FileHandle): Promise<number> {
    const { size } = await file.stat();
    if (size === 0 || size > MAX_RECORDING_BYTES) throw new Error(`a file of ${size} bytes was written`);
    await file.sync();
    await rename(join(this.#dir, `${id}.part`), join(this.#dir, `${id}.mp4`));
    return size;
  }

  /** Deletes an unfinished file of create(). Never rejects. */
  async discard(id: string): Promise<void> {
    await this.#remove(`${id}.part`);
  }

  /** @returns null: the recording does not exist, or is older than 24 h */
  async read(id: string): Promise<OpenRecording | null> {
    let file: FileHandle;
    try {
      file = await open(join(this.#dir, `${id}.mp4`), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    const stats = await file.stat();
    if (stats.isFile() && !this.#isExpired(stats)) return { file, bytes: stats.size };
    await file.close();
    return null;
  }

  /** A file whose time is in the future was written before the clock was set back. */
  #isExpired({ mtimeMs }: Pick<Stats, 'mtimeMs'>): boolean {
    return Math.abs(this.#nowMs() - mtimeMs) >= RECORDING_KEPT_MS;
  }

  async #each(visit: (name: string) => Promise<void>): Promise<void> {
    try {
      for (const name of await readdir(this.#dir)) await visit(name);
    } catch (error) {
      this.#logger.warn({ error: errorText(error) }, 'recorder.files_failed');
    }
  }

  async #remove(name: string): Promise<void> {
    try {
      await rm(join(this.#dir, name), { force: true });
    } catch (error) {
      this.#logger.warn({ error: errorText(error) }, 'recorder.files_failed');
    }
  }
}

function freeBytesOf(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
