import {
  closeSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, createLogger, systemClock } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import BetterSqlite3 from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMountDisks, mountSmallDisk } from '../../../testing/small-disk.ts';
import { DamagedDatabase, type Database, isUnavailable, openDatabase } from '../index.ts';

const logger = createLogger('silent');
/** Interval after which a released reserve is created again. */
const RESERVE_CHECK_MS = 30_000;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-sqlite-'));
  file = join(folder, 'data', 'control.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (clock: Clock = systemClock): Promise<Database> =>
  openDatabase({ dialect: 'sqlite', file }, { logger, clock });

const write = (database: Database) =>
  database.db.updateTable('instance_settings').set({ updated_at: 7 }).where('id', '=', 1).execute();

/** Advances the clock of the database until the work ends; the work must not wait for another clock. */
async function passUntil<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver) await clock.pass(1);
  return work;
}

describe('another process holds the write lock', () => {
  let clock: ManualClock;
  let database: Database;
  let other: BetterSqlite3.Database;
  beforeEach(async () => {
    clock = new ManualClock();
    database = await open(clock);
    other = new BetterSqlite3(file);
    other.exec('begin immediate');
  });
  afterEach(async () => {
    other.close();
    await database.close();
  });

  test('a write waits for it without holding up the event loop, then goes through', async () => {
    const order: string[] = [];
    const written = Promise.all([
      write(database),
      database.transaction(async (tx) => sql`select 1`.execute(tx)),
    ]).then(() => order.push('written'));
    await clock.pass(1_000);
    await database.ping();
    order.push('read');
    other.exec('rollback');
    await passUntil(clock, written);
    expect(order).toEqual(['read', 'written']);
  });

  test('after five seconds a write is given up as unavailable, and reads go on meanwhile', async () => {
    const failed = passUntil(clock, write(database));
    await expect(failed).rejects.toSatisfy(isUnavailable);
    const transaction = database.transaction(async (tx) => sql`select 1`.execute(tx));
    await expect(passUntil(clock, transaction)).rejects.toSatisfy(isUnavailable);
    await expect(database.ping()).resolves.toBeUndefined();
    other.exec('rollback');
    await expect(write(database)).resolves.toBeDefined();
  });
});

const grow = (database: Database, action = 'a') =>
  database.db
    .insertInto('activity')
    .values({
      actor_user_id: null,
      action,
      target_type: 't',
      target_id: null,
      details: 'x'.repeat(100_000),
      created_at: 1,
    })
    .execute();

const actions = async (database: Database) =>
  (await database.db.selectFrom('activity').select('action').orderBy('id').execute()).map(
    ({ action }) => action,
  );

describe('the disk is full', () => {
  test('a write that does not fit even into the reserve fails, and the reserve is restored', async () => {
    const clock = new ManualClock();
    const database = await open(clock);
    const reserve = `${file}.reserve`;
    expect(statSync(reserve).size).toBe(8 * 1024 * 1024);
    // A database file that must not grow gives the same errors as a full disk.
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db);
    await sql.raw(`pragma max_page_count = ${rows[0]?.page_count}`).execute(database.db);
    await expect(passUntil(clock, grow(database))).rejects.toSatisfy(isUnavailable);
    expect(existsSync(reserve)).toBe(false);
    expect(database.full).toBe(true);
    await expect(database.ping()).resolves.toBeUndefined();
    await sql.raw('pragma max_page_count = 1000000').execute(database.db);
    await expect(grow(database)).resolves.toBeDefined();
    await clock.pass(RESERVE_CHECK_MS);
    expect(database.full).toBe(false);
    expect(existsSync(reserve)).toBe(true);
    await database.close();
  });

  test.runIf(canMountDisks)(
    'to its last byte: the write that finds it full succeeds, later ones fail, reads go on, and free space ends this',
    async () => {
      const disk = mountSmallDisk(64);
      try {
        file = join(disk.folder, 'control.db');
        const clock = new ManualClock();
        const database = await open(clock);
        expect(existsSync(`${file}.reserve`)).toBe(true);
        disk.fill();
        await passUntil(clock, grow(database, 'met it'));
        expect([existsSync(`${file}.reserve`), database.full]).toEqual([false, true]);
        // Another program fills the space that the reserve has freed.
        disk.fill();
        await expect(passUntil(clock, grow(database, 'refused'))).rejects.toSatisfy(isUnavailable);
        const changes = database.transaction(async (tx) => {
          await tx.updateTable('instance_settings').set({ updated_at: 7 }).execute();
          await grow({ ...database, db: tx }, 'refused too');
        });
        await expect(passUntil(clock, changes)).rejects.toSatisfy(isUnavailable);
        expect(await actions(database)).toEqual(['met it']);
        disk.free();
        await passUntil(clock, grow(database, 'after it'));
        await clock.pass(RESERVE_CHECK_MS);
        expect(database.full).toBe(false);
        await database.close();
        const again = await open();
        expect(await actions(again)).toEqual(['met it', 'after it']);
        const settings = again.db.selectFrom('instance_settings').select('updated_at');
        expect((await settings.executeTakeFirstOrThrow()).updated_at).not.toBe(7);
        await again.close();
      } finally {
        disk.unmount();
      }
    },
  );
});

describe('a write-ahead log that a crash left', () => {
  const overwrite = (log: string, at: number) => {
    const descriptor = openSync(log, 'r+');
    writeSync(descriptor, Buffer.alloc(4096, 0xa5), 0, 4096, at);
    closeSync(descriptor);
  };

  test.each([
    ['cut off', truncateSync],
    ['overwritten', overwrite],
  ])(
    '%s in its middle: the writes before it are there, whole and in order, and none after it',
    async (_what, hurt) => {
      const database = await open();
      for (let n = 0; n < 20; n += 1) await grow(database, `write ${n}`);
      // Copy the files while the service runs.
      const copy = join(folder, 'copy.db');
      for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${copy}${end}`);
      await database.close();
      hurt(`${copy}-wal`, Math.floor(statSync(`${copy}-wal`).size * 0.7));
      file = copy;
      const opened = await open();
      const found = await actions(opened);
      expect([found.length > 0, found.length < 20]).toEqual([true, true]);
      expect(found).toEqual(found.map((_action, n) => `write ${n}`));
      await opened.close();
    },
  );
});

describe('a damaged file refuses to start and names the restore command', () => {
  test('a file that is no database', async () => {
    await (await open()).close();
    writeFileSync(file, 'not a database at all, but long enough to have a header');
    await expect(open()).rejects.toThrow(DamagedDatabase);
    await expect(open()).rejects.toThrow('./scripts/restore');
  });

  test('a page that was overwritten', async () => {
    const database = await open();
    for (let row = 0; row < 200; row += 1) {
      await database.db
        .insertInto('activity')
        .values({
          actor_user_id: null,
          action: 'a',
          target_type: 't',
          target_id: null,
          details: 'x'.repeat(500),
          created_at: row,
        })
        .execute();
    }
    // Select a page that only the check at the start reads.
    const { rows } = await sql<{ pageno: number }>`
      select pageno from dbstat where name = 'activity' and pagetype = 'leaf' limit 1 offset 5`.execute(
      database.db,
    );
    await database.close();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4096, 0xa5), 0, 4096, ((rows[0]?.pageno ?? 0) - 1) * 4096);
    closeSync(descriptor);
    await expect(open()).rejects.toThrow('./scripts/restore');
  });

  test('a file that was cut off', async () => {
    const database = await open();
    await database.close();
    truncateSync(file, Math.floor(statSync(file).size / 2));
    await expect(open()).rejects.toThrow('./scripts/restore');
  });

  test('a healthy file larger than what is checked in process is checked too', async () => {
    const database = await open();
    await database.db
      .insertInto('activity')
      .values({
        actor_user_id: null,
        action: 'a',
        target_type: 't',
        target_id: null,
        details: 'x'.repeat(20_000_000),
        created_at: 1,
      })
      .execute();
    await database.close();
    const again = await open();
    await again.close();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4096 * 8, 0xa5), 0, 4096 * 8, 4096);
    closeSync(descriptor);
    await expect(open()).rejects.toThrow('./scripts/restore');
  });
});

test('a new file and its folder are for the service alone, and writes survive a crash', async () => {
  const database = await open();
  expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(join(folder, 'data'))) {
    expect([name, statSync(join(folder, 'data', name)).mode & 0o777]).toEqual([name, 0o600]);
  }
  const { rows: journal } = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(database.db);
  const { rows: sync } = await sql<{ synchronous: number }>`pragma synchronous`.execute(database.db);
  const { rows: keys } = await sql<{ foreign_keys: number }>`pragma foreign_keys`.execute(database.db);
  expect([journal[0]?.journal_mode, sync[0]?.synchronous, keys[0]?.foreign_keys]).toEqual(['wal', 2, 1]);
  await database.close();
});

test('a link in the place of the reserve is replaced, and its target stays', async () => {
  const other = join(folder, 'other-file');
  writeFileSync(other, 'precious');
  mkdirSync(join(folder, 'data'));
  symlinkSync(other, `${file}.reserve`);
  await (await open()).close();
  expect(readFileSync(other, 'utf8')).toBe('precious');
  expect(lstatSync(`${file}.reserve`).isFile()).toBe(true);
});
