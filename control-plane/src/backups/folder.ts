import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { type Clock, HOUR_MS, SECOND_MS } from '@footlight/platform';
import { z } from 'zod';
import {
  BackupRefused,
  backupPostgres,
  backupSqlite,
  type DatabaseTarget,
} from '../platform/database/index.ts';
import { newestFirst, planRemovals } from './kept.ts';
import { type NamedBackup, nameOfBackup, parseBackupName } from './names.ts';

/** A backup in the folder. */
export interface StoredBackup extends NamedBackup {
  bytes: number;
  /** It was read completely after it was written, and its size has not changed since. */
  verified: boolean;
  /** Version of the control plane that wrote it; null: unknown. */
  release: string | null;
}

/** Record of a verified backup, in a file next to it. */
const recordSchema = z.object({ release: z.string(), bytes: z.int(), verified_at: z.string() });
type BackupRecord = z.output<typeof recordSchema>;

/** Ending of the name of a backup that is being written, and of SQLite's companions of this file. */
const PARTIAL = /\.partial(-\w+)?$/;
/** Age of the last write from which an unfinished file belongs to a process that has ended. Chosen, not measured. */
const ABANDONED_MS = HOUR_MS;

/** The folder of the backups (SERVICE_BACKUP_DIR). */
export interface BackupFolder {
  readonly dir: string;
  /** All backups, newest first; a missing folder has none. Other files of the folder are ignored. */
  list(): Promise<StoredBackup[]>;
  /**
   * Writes and verifies a backup. After an error no file stays.
   * @throws BackupRefused with a sentence, or the reason of the signal
   */
  write(reason: string | null, signal?: AbortSignal): Promise<StoredBackup>;
  /** Deletes the verified backups beyond `keep`. @returns their number */
  prune(keep: number): Promise<number>;
  /** @returns false: there is no such backup */
  remove(name: string): Promise<boolean>;
  /** Opens a backup for reading; the caller closes it. null: there is no such backup */
  open(name: string): Promise<{ file: FileHandle; bytes: number } | null>;
}

/**
 * @param options.fileClock the machine's clock, which the file system uses
 * @param options.release version of this control plane
 */
export function createBackupFolder(options: {
  dir: string;
  database: DatabaseTarget;
  clock: Clock;
  fileClock: Clock;
  release: string;
}): BackupFolder {
  const { dir, database, clock, fileClock, release } = options;
  const at = (name: string) => path.join(dir, name);
  const recordOf = (name: string) => `${at(name)}.json`;
  const partialOf = (name: string) => `${at(name)}.partial`;

  /** null: a directory, a link, or a file that was deleted meanwhile. */
  async function read(named: NamedBackup): Promise<StoredBackup | null> {
    const found = await lstat(at(named.name)).catch(() => null);
    if (!found?.isFile()) return null;
    const { size: bytes } = found;
    const record = await readRecord(recordOf(named.name));
    return { ...named, bytes, verified: record?.bytes === bytes, release: record?.release ?? null };
  }

  async function list(): Promise<StoredBackup[]> {
    const backups: StoredBackup[] = [];
    for (const name of await namesIn(dir)) {
      const named = parseBackupName(name);
      const backup = named && (await read(named));
      if (backup) backups.push(backup);
    }
    return newestFirst(backups);
  }

  /**
   * Reserves a name that no other backup has by creating its unfinished file, because several control planes can write
   * into one folder at the same time.
   */
  async function reserveName(reason: string | null): Promise<NamedBackup> {
    const taken = new Set(await namesIn(dir));
    const nowMs = Math.floor(clock.nowMs() / SECOND_MS) * SECOND_MS;
    for (let createdAtMs = nowMs; ; createdAtMs += SECOND_MS) {
      const content = { createdAtMs, reason, database: database.dialect };
      const name = nameOfBackup(content);
      if (taken.has(name)) continue;
      try {
        await (await open(partialOf(name), 'wx', 0o600)).close();
        return { name, ...content };
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
  }

  async function removeAbandoned(): Promise<void> {
    for (const name of await namesIn(dir)) {
      if (!PARTIAL.test(name) || parseBackupName(name.replace(PARTIAL, '')) === null) continue;
      const found = await stat(at(name)).catch(() => null);
      if (found !== null && fileClock.nowMs() - found.mtimeMs > ABANDONED_MS)
        await rm(at(name), { force: true });
    }
  }

  return {
    dir,
    list,

    async write(reason, signal) {
      try {
        await mkdir(dir, { recursive: true, mode: 0o700 });
        await removeAbandoned();
        const named = await reserveName(reason);
        const { name } = named;
        try {
          if (database.dialect === 'sqlite') await backupSqlite(database.file, at(name), signal);
          else await backupPostgres(database.url, at(name), signal);
          const { size: bytes } = await stat(at(name));
          const record: BackupRecord = { release, bytes, verified_at: new Date(clock.nowMs()).toISOString() };
          await writeFile(recordOf(name), `${JSON.stringify(record)}\n`, { mode: 0o600 });
          return { ...named, bytes, verified: true, release };
        } catch (error) {
          await rm(partialOf(name), { force: true });
          await removeBoth(name);
          throw error;
        }
      } catch (error) {
        throw asRefusal(error, dir);
      }
    },

    async prune(keep) {
      const removed = planRemovals(
        (await list()).filter(({ verified }) => verified),
        keep,
      );
      for (const { name } of removed) await removeBoth(name);
      return removed.length;
    },

    async remove(name) {
      const named = parseBackupName(name);
      if (named === null || (await read(named)) === null) return false;
      await removeBoth(name);
      return true;
    },

    open: async (name) => (parseBackupName(name) === null ? null : openFile(at(name))),
  };

  /** The record goes last: a backup without a record would count as not verified. */
  async function removeBoth(name: string): Promise<void> {
    await rm(at(name), { force: true });
    await rm(recordOf(name), { force: true });
  }
}

/** Opens a regular file and follows no link. null: there is none */
async function openFile(file: string): Promise<{ file: FileHandle; bytes: number } | null> {
  let opened: FileHandle;
  try {
    // Without O_NONBLOCK the open of a FIFO would wait for a writer.
    opened = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes(codeOf(error))) return null;
    throw error;
  }
  const found = await opened.stat();
  if (found.isFile()) return { file: opened, bytes: found.size };
  await opened.close();
  return null;
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** null: there is no record, or another program has written it. */
async function readRecord(file: string): Promise<BackupRecord | null> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** A sentence for errors of the file system that an administrator can repair. Other errors stay. */
function asRefusal(error: unknown, dir: string): unknown {
  const code = codeOf(error);
  if (error instanceof BackupRefused) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new BackupRefused(`The disk is too full for a backup in ${dir}.`);
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code))
    return new BackupRefused(
      `The control plane cannot write to the folder of the backups, ${dir} (SERVICE_BACKUP_DIR): ${code}.`,
    );
  return error;
}
