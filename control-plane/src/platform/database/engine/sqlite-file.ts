import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { BUSY_WAIT_MS } from './sqlite-dialect.ts';

const HEADER = 'SQLite format 3\0';
const CHECK_LIMIT_MS = 1_000;
/**
 * Up to this size quick_check needs only a small part of its one-second limit and runs in this process. Larger files
 * are checked in a child process that can be killed.
 */
const CHECK_INSIDE_BYTES = 16 * 1024 * 1024;
/**
 * Size of the reserve file. It is freed when the disk is full, so that sign-ins, ends of sessions and an
 * administrator's deletions still fit.
 */
export const RESERVE_BYTES = 8 * 1024 * 1024;
/** SQLite's page cache; other pages are read from the system's file cache. The driver's default is 16 MB. */
const CACHE_KIB = 4_096;

/** The database file is unusable, which stops the boot. The message names the command that repairs it. */
export class DamagedDatabase extends Error {
  constructor(file: string, why: string) {
    super(
      `${file} is damaged (${why}). Bring a backup back with: ./scripts/restore <backup file>, or with the Debian package: sudo footlight restore <backup file>`,
    );
    this.name = 'DamagedDatabase';
  }
}

/**
 * Opens the file; creates it and its folder (0700) if missing. Sets WAL, synchronous FULL, foreign keys and a small
 * page cache. An existing file gets a header check and a quick_check with a limit of one second. A check that does not
 * finish in time counts as passed.
 * @throws DamagedDatabase, or the file system's error
 */
export function openSqliteFile(file: string): BetterSqlite3.Database {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const bytes = existsSync(file) ? statSync(file).size : 0;
  if (bytes > 0) checkHeader(file);
  if (bytes > CHECK_INSIDE_BYTES) checkInChild(file);
  // Create the file with mode 0600, because the folder may be open to others; the journal files inherit the mode.
  if (bytes === 0) closeSync(openSync(file, 'a', 0o600));
  const database = new BetterSqlite3(file, { timeout: BUSY_WAIT_MS });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    database.pragma(`cache_size = -${CACHE_KIB}`);
    // Replace SQLite's lower(), which covers only ASCII, because searches must find names in any script.
    database.function('lower', { deterministic: true }, (value) =>
      typeof value === 'string' ? value.toLowerCase() : value,
    );
    if (bytes > 0 && bytes <= CHECK_INSIDE_BYTES) {
      const answer = database.pragma('quick_check(1)', { simple: true });
      if (answer !== 'ok') throw new DamagedDatabase(file, String(answer));
    }
    return database;
  } catch (error) {
    database.close();
    throw asDamage(file, error);
  }
}

/** Converts the error of a read of damaged pages into DamagedDatabase; returns any other error unchanged. */
export function asDamage(file: string, error: unknown): unknown {
  return error instanceof BetterSqlite3.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)
    ? new DamagedDatabase(file, error.message)
    : error;
}

function checkHeader(file: string): void {
  const descriptor = openSync(file, 'r');
  const head = Buffer.alloc(HEADER.length);
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (head.toString('latin1') !== HEADER)
    throw new DamagedDatabase(file, 'it does not begin as a SQLite file');
}

/** quick_check cannot be interrupted from JavaScript, so a child process that can be killed checks large files. */
function checkInChild(file: string): void {
  const script = `
    const Database = require(process.argv[1]);
    const answer = new Database(process.argv[2], { readonly: true }).pragma('quick_check(1)', { simple: true });
    process.stdout.write(String(answer));`;
  const library = createRequire(import.meta.url).resolve('better-sqlite3');
  const child = spawnSync(process.execPath, ['-e', script, library, file], {
    timeout: CHECK_LIMIT_MS,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  });
  if (child.error || child.signal) return;
  if (child.status !== 0 && !/SQLITE_(CORRUPT|NOTADB)/.test(child.stderr)) return;
  if (child.stdout !== 'ok')
    throw new DamagedDatabase(file, child.stdout.slice(0, 200) || 'it cannot be read');
}

/**
 * Reserved disk space. It is freed when the disk is full, so that writes that free resources can succeed. It is
 * reserved again when enough space is free.
 */
export class DiskReserve {
  readonly #file: string;
  #held = false;

  constructor(databaseFile: string) {
    this.#file = `${databaseFile}.reserve`;
    this.hold();
  }

  /** Whether the space is reserved: false from its release until enough space is free again. */
  get held(): boolean {
    return this.#held;
  }

  /** Reserves the space if at least four times as much is free. Never throws. */
  hold(): void {
    if (this.#held) return;
    try {
      const found = lstatSync(this.#file, { throwIfNoEntry: false });
      if (!found?.isFile() || found.size !== RESERVE_BYTES) {
        const { bavail, bsize } = statfsSync(dirname(this.#file));
        if (bavail * bsize < 4 * RESERVE_BYTES) return;
        // Never write into an existing file: if the folder is open to others, it may be a link to another file of this
        // user.
        rmSync(this.#file, { force: true });
        writeFileSync(this.#file, Buffer.alloc(RESERVE_BYTES), { mode: 0o600, flag: 'wx' });
      }
      this.#held = true;
    } catch {
      rmSync(this.#file, { force: true });
    }
  }

  /** Whether space was released. */
  release(): boolean {
    const gave = this.#held;
    this.#held = false;
    rmSync(this.#file, { force: true });
    return gave;
  }
}
