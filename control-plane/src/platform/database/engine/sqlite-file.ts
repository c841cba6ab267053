import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
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
/** Up to this size quick_check takes a small part of its second, so it runs here; larger files in a child that can be cut off. */
const CHECK_INSIDE_BYTES = 16 * 1024 * 1024;
const RESERVE_BYTES = 8 * 1024 * 1024;
/** Pages that SQLite keeps itself; the others lie in the system's cache of the file, a read away. The driver's own is 16 MB. */
const CACHE_KIB = 4_096;

/** The database file cannot be used; the message says what to do. Boot stops. */
export class DamagedDatabase extends Error {
  constructor(file: string, why: string) {
    super(`${file} is damaged (${why}). Bring a backup back with: ./scripts/restore <backup file>`);
    this.name = 'DamagedDatabase';
  }
}

/**
 * Opens the file, making it and its folder (0700) where they are missing: WAL, synchronous FULL, foreign keys,
 * a small page cache.
 * An existing file has its header looked at and gets a quick_check that is cut off after one second (a check that did
 * not finish is not a bad answer).
 * @throws DamagedDatabase; or the file system's error where the path cannot be used
 */
export function openSqliteFile(file: string): BetterSqlite3.Database {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const bytes = existsSync(file) ? statSync(file).size : 0;
  if (bytes > 0) checkHeader(file);
  if (bytes > CHECK_INSIDE_BYTES) checkInChild(file);
  // Made by us, so that nobody else may read it even where its folder is open; the journal files take its mode.
  if (bytes === 0) closeSync(openSync(file, 'a', 0o600));
  const database = new BetterSqlite3(file, { timeout: BUSY_WAIT_MS });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    database.pragma(`cache_size = -${CACHE_KIB}`);
    // SQLite's own lower() knows ASCII only, and searches look at names in any script.
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
    if (error instanceof BetterSqlite3.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) {
      throw new DamagedDatabase(file, error.message);
    }
    throw error;
  }
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

/** quick_check cannot be interrupted from JavaScript, so a large file is read by a process that can be killed. */
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
 * Space kept back beside the database, given up when the disk is full so that what frees resources can still be
 * written, and taken again when there is room.
 */
export class DiskReserve {
  readonly #file: string;
  #held = false;

  constructor(databaseFile: string) {
    this.#file = `${databaseFile}.reserve`;
    this.hold();
  }

  /** False from the moment it was given up until there is room again. */
  get held(): boolean {
    return this.#held;
  }

  /** Takes the space where at least four times as much is free. Never throws. */
  hold(): void {
    if (this.#held) return;
    try {
      if (!existsSync(this.#file) || statSync(this.#file).size !== RESERVE_BYTES) {
        const { bavail, bsize } = statfsSync(dirname(this.#file));
        if (bavail * bsize < 4 * RESERVE_BYTES) return;
        writeFileSync(this.#file, Buffer.alloc(RESERVE_BYTES), { mode: 0o600 });
      }
      this.#held = true;
    } catch {
      rmSync(this.#file, { force: true });
    }
  }

  /** True when there was something to give up. */
  release(): boolean {
    const gave = this.#held;
    this.#held = false;
    rmSync(this.#file, { force: true });
    return gave;
  }
}
