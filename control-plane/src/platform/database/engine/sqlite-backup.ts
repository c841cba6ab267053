import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import Database from 'better-sqlite3';
import { BackupRefused } from './backup-refused.ts';
import { RESERVE_BYTES } from './sqlite-file.ts';

/** Suffixes of SQLite's companion files. A database without its `-wal` lacks its newest rows. */
const COMPANIONS = ['-wal', '-shm', '-journal'];
const COPY_BYTES = 1024 * 1024;
/** Pages that each step of a backup copies; the default of the driver. Other work runs between the steps. */
const STEP_PAGES = 100;

/**
 * Saves a live database by SQLite's online backup, and checks the copy. The result is one file without companions,
 * written completely or not at all.
 * @param target a path at which no file exists
 * @throws BackupRefused when the database is missing or damaged, or the disk is too full; the reason of the signal;
 * otherwise the file system's error
 */
export async function backupSqlite(source: string, target: string, signal?: AbortSignal): Promise<void> {
  if (!existsSync(source)) throw new BackupRefused(`There is no database at ${source} yet.`);
  requireSpace(source, path.dirname(target));
  const partial = `${target}.partial`;
  removeWithCompanions(partial);
  // Created here, because SQLite would create it with the mode that the umask gives.
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    const database = new Database(source, { readonly: true });
    try {
      // A read transaction keeps the snapshot. Otherwise each write of another connection would restart the backup, and
      // the backup of a busy database would never end.
      database.exec('begin');
      database.prepare('select 1 from sqlite_master').get();
      await database.backup(partial, {
        progress: () => {
          signal?.throwIfAborted();
          return STEP_PAGES;
        },
      });
    } finally {
      database.close();
    }
    const fault = makeOneFile(partial) ?? (await checkSqliteBackup(partial, signal));
    if (fault) throw new BackupRefused(`${source} cannot be saved: ${fault}.`);
    renameSync(partial, target);
  } catch (error) {
    removeWithCompanions(partial);
    if (!(error instanceof Database.SqliteError)) throw error;
    throw new BackupRefused(`${source} cannot be saved: ${error.message}.`);
  }
}

/**
 * Opens a backup read-only in a child process, because the check of a large file would block this process.
 * @returns the fault, or null for a complete database with migration steps
 */
export function checkSqliteBackup(file: string, signal?: AbortSignal): Promise<string | null> {
  const script = `
    const Database = require(process.argv[1]);
    const database = new Database(process.argv[2], { readonly: true, fileMustExist: true });
    const answer = database.pragma('integrity_check(1)', { simple: true });
    const steps = database.prepare('select count(*) from schema_steps').pluck();
    process.stdout.write(String(answer === 'ok' && steps.get() === 0 ? 'no migration step' : answer));`;
  const library = createRequire(import.meta.url).resolve('better-sqlite3');
  const words = ['-e', script, library, file];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { ...(signal && { signal }) }, (error, answer, errors) => {
      if (signal?.aborted) return reject(signal.reason);
      if (error === null) return resolve(answer === 'ok' ? null : `it is damaged (${answer})`);
      const [, why] = /SqliteError: (.*)/.exec(errors) ?? [];
      return why === undefined ? reject(error) : resolve(`it is not a complete SQLite database (${why})`);
    });
  });
}

/** A backup that fills the disk would stop the writes of the running service. @throws BackupRefused */
function requireSpace(source: string, folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const neededBytes = statSync(source).size + 4 * RESERVE_BYTES;
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1_000_000)} MB`;
  throw new BackupRefused(
    `The disk is too full for a backup: ${folder} has ${megabytes(freeBytes)} free, and ${megabytes(neededBytes)} are needed.`,
  );
}

/**
 * Replaces a closed database with a backup. The former file is kept.
 * @param opened descriptor of the backup, if this process may not open it by its path
 * @returns path of the former file, or null when there was none
 * @throws BackupRefused when the backup is unusable or the database is open; nothing was changed
 */
export function restoreSqlite(source: string, target: string, opened: number | null = null): string | null {
  const found = opened === null ? statSync(source, { throwIfNoEntry: false }) : fstatSync(opened);
  if (!found?.isFile()) throw new BackupRefused(`There is no backup at ${source}.`);
  const folder = path.dirname(target);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const backup = opened ?? openSync(source, 'r');
  try {
    return withRightsOfOwner(folder, () => replaceBy(backup, source, target));
  } finally {
    if (opened === null) closeSync(backup);
  }
}

/** @param backup open descriptor of the backup; possibly only root can open the file itself */
function replaceBy(backup: number, source: string, target: string): string | null {
  const incoming = `${target}.restoring`;
  removeWithCompanions(incoming);
  try {
    copyDurably(backup, incoming);
    // Checks the copy, because opening the backup itself could leave companion files.
    const fault = faultOf(incoming);
    if (fault) throw new BackupRefused(`${source} cannot be restored: ${fault}.`);
    const former = existsSync(target);
    if (former) refuseWhileOpen(target);
    const kept = former ? freeName(`${target}.before-restore`) : null;
    if (kept) keepFormer(target, kept);
    renameSync(incoming, target);
    return kept;
  } finally {
    removeWithCompanions(incoming);
  }
}

/**
 * When root runs the restore, `work` runs with only the rights of the folder's owner. The owner could replace a file in
 * the folder by a link at any moment, and root would then overwrite the target of the link.
 */
function withRightsOfOwner<T>(folder: string, work: () => T): T {
  const { uid, gid } = statSync(folder);
  const { geteuid, getegid, getgroups, seteuid, setegid, setgroups } = process;
  if (!geteuid || !getegid || !getgroups || !seteuid || !setegid || !setgroups) return work();
  if (geteuid() !== 0 || uid === 0) return work();
  const [formerGid, formerGroups] = [getegid(), getgroups()];
  setgroups([gid]);
  setegid(gid);
  seteuid(uid);
  try {
    return work();
  } finally {
    seteuid(0);
    setegid(formerGid);
    setgroups(formerGroups);
  }
}

/**
 * Gives the former file a second name. The first name stays, because a control plane that starts at this moment would
 * otherwise create an empty database. The companion files are renamed, because the journal of the former file must not
 * be applied to the new one.
 */
function keepFormer(target: string, kept: string): void {
  for (const suffix of COMPANIONS)
    if (existsSync(`${target}${suffix}`)) renameSync(`${target}${suffix}`, `${kept}${suffix}`);
  linkSync(target, kept);
}

/** Copies a file and syncs the copy to disk. Only the owner can read the copy, independent of the source's mode. */
function copyDurably(source: number, target: string): void {
  const descriptor = openSync(target, 'wx', 0o600);
  try {
    const chunk = Buffer.alloc(COPY_BYTES);
    for (let at = 0; ; ) {
      const bytes = readSync(source, chunk, 0, chunk.length, at);
      if (bytes === 0) break;
      writeSync(descriptor, chunk, 0, bytes);
      at += bytes;
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Merges the journal and reads the whole file. @returns the fault, or null for a Footlight database */
const faultOf = (file: string): string | null => faultWith(file, true);

/** Merges the journal and reads only the schema. @returns the fault, or null for the schema of a Footlight database */
const makeOneFile = (file: string): string | null => faultWith(file, false);

function faultWith(file: string, readAll: boolean): string | null {
  try {
    const database = new Database(file);
    try {
      database.pragma('journal_mode = DELETE');
      const answer = readAll ? database.pragma('integrity_check(1)', { simple: true }) : 'ok';
      if (answer !== 'ok') return `it is damaged (${String(answer)})`;
      const steps = database
        .prepare("select 1 from sqlite_master where type = 'table' and name = 'schema_steps'")
        .get();
      if (!steps) return 'it holds no Footlight database';
      // Refuse triggers and views, because Footlight creates none, and a planted trigger could change accounts at every
      // sign-in. The comparison ignores case, because SQLite uses the statement's text and not the case of the `type`
      // column.
      const foreign = database
        .prepare("select lower(type) as type, name from sqlite_master where type not in ('table', 'index')")
        .get() as { type: string; name: string } | undefined;
      return foreign ? `it holds the ${foreign.type} ${foreign.name}, which Footlight did not make` : null;
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof Database.SqliteError)
      return `it is not a complete SQLite database (${error.message})`;
    throw error;
  }
}

/** A process that has the file open keeps it in WAL mode. @throws BackupRefused */
function refuseWhileOpen(file: string): void {
  const database = new Database(file, { timeout: 0 });
  try {
    if (database.pragma('journal_mode = DELETE', { simple: true }) !== 'wal') return;
  } catch (error) {
    // Ignore other errors: the file is unreadable, so no process uses it, and a restore is what it needs.
    if (!(error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code))) return;
  } finally {
    database.close();
  }
  throw new BackupRefused(`${file} is open in another process. Stop the control plane, then restore.`);
}

/** A free name, so that a second restore does not overwrite the first kept file. */
function freeName(wanted: string): string {
  let name = wanted;
  for (let n = 2; existsSync(name); n += 1) name = `${wanted}-${n}`;
  return name;
}

function removeWithCompanions(file: string): void {
  for (const suffix of ['', ...COMPANIONS]) rmSync(`${file}${suffix}`, { force: true });
}
