import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { BackupRefused } from './backup-refused.ts';

/** What SQLite may keep beside a database file. They belong to it: a file without its `-wal` lacks its newest rows. */
const COMPANIONS = ['-wal', '-shm', '-journal'];

/**
 * Saves a database that may be in use, by SQLite's online backup. The result is one file without companions, and
 * appears whole or not at all.
 * @param target a path where nothing is yet
 * @throws BackupRefused when there is no database or it is damaged; the file system's error otherwise
 */
export async function backupSqlite(source: string, target: string): Promise<void> {
  if (!existsSync(source)) throw new BackupRefused(`There is no database at ${source} yet.`);
  const partial = `${target}.partial`;
  removeWithCompanions(partial);
  try {
    const database = new Database(source, { readonly: true });
    try {
      await database.backup(partial);
    } finally {
      database.close();
    }
    const fault = faultOf(partial);
    if (fault) throw new BackupRefused(`${source} cannot be saved: ${fault}.`);
    renameSync(partial, target);
  } catch (error) {
    removeWithCompanions(partial);
    if (!(error instanceof Database.SqliteError)) throw error;
    throw new BackupRefused(`${source} cannot be saved: ${error.message}.`);
  }
}

/**
 * Puts a backup in the place of a database that nobody has open. The former file stays beside it.
 * @returns where the former file is now, or null when there was none
 * @throws BackupRefused when the backup cannot be used or the database is open; nothing is changed then
 */
export function restoreSqlite(source: string, target: string): string | null {
  if (!existsSync(source)) throw new BackupRefused(`There is no backup at ${source}.`);
  const folder = path.dirname(target);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const incoming = `${target}.restoring`;
  removeWithCompanions(incoming);
  try {
    copyDurably(source, incoming);
    // The copy is looked at, not the backup itself: opening a file can leave companions beside it.
    const fault = faultOf(incoming);
    if (fault) throw new BackupRefused(`${source} cannot be restored: ${fault}.`);
    const former = existsSync(target);
    if (former) refuseWhileOpen(target);
    // Root restores for the service's own user, who has to be able to open the file.
    const { uid, gid } = statSync(former ? target : folder);
    if (process.getuid?.() === 0) chownSync(incoming, uid, gid);
    const kept = former ? freeName(`${target}.before-restore`) : null;
    if (kept) keepFormer(target, kept);
    renameSync(incoming, target);
    return kept;
  } finally {
    removeWithCompanions(incoming);
  }
}

/**
 * Gives the former file a second name: the first one is never without a file, because a control plane that starts in
 * that moment would make an empty database. A journal left of a damaged file must not be read into the new one.
 */
function keepFormer(target: string, kept: string): void {
  for (const suffix of COMPANIONS)
    if (existsSync(`${target}${suffix}`)) renameSync(`${target}${suffix}`, `${kept}${suffix}`);
  linkSync(target, kept);
}

/** On the disk before it takes the place of anything, and for its owner only, whatever the source allows. */
function copyDurably(source: string, target: string): void {
  copyFileSync(source, target);
  chmodSync(target, 0o600);
  const descriptor = openSync(target, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Folds a journal into the file and reads all of it. @returns what is wrong, or null when it is a database of ours */
function faultOf(file: string): string | null {
  try {
    const database = new Database(file);
    try {
      database.pragma('journal_mode = DELETE');
      const answer = database.pragma('integrity_check(1)', { simple: true });
      if (answer !== 'ok') return `it is damaged (${String(answer)})`;
      const steps = database
        .prepare("select 1 from sqlite_master where type = 'table' and name = 'schema_steps'")
        .get();
      return steps ? null : 'it holds no Footlight database';
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof Database.SqliteError) return `it is no whole SQLite database (${error.message})`;
    throw error;
  }
}

/** A process that has the file open keeps it in WAL mode. @throws BackupRefused */
function refuseWhileOpen(file: string): void {
  const database = new Database(file, { timeout: 0 });
  try {
    if (database.pragma('journal_mode = DELETE', { simple: true }) !== 'wal') return;
  } catch (error) {
    // Any other fault is a reason to restore: a file that SQLite cannot read is open nowhere.
    if (!(error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code))) return;
  } finally {
    database.close();
  }
  throw new BackupRefused(`${file} is open in another process. Stop the control plane, then restore.`);
}

/** Restoring twice must not cost what stood there first. */
function freeName(wanted: string): string {
  let name = wanted;
  for (let n = 2; existsSync(name); n += 1) name = `${wanted}-${n}`;
  return name;
}

function removeWithCompanions(file: string): void {
  for (const suffix of ['', ...COMPANIONS]) rmSync(`${file}${suffix}`, { force: true });
}
