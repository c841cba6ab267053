import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, DAY_MS, SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { checkPostgresBackup } from '../platform/database/engine/postgres-backup.ts';
import { checkSqliteBackup } from '../platform/database/engine/sqlite-backup.ts';
import { type DatabaseTarget, openDatabase } from '../platform/database/index.ts';
import { STEP_NAMES } from '../platform/database/migrate.ts';
import {
  DEBIAN_POSTGRES,
  type DebianPostgres,
  hasDebianPostgres,
  startDebianPostgres,
} from '../testing/debian-postgres.ts';
import { createTestApp, loggedActivity, PATIENTLY, refused, type TestApp } from '../testing/index.ts';
import { runScript } from '../testing/operator-scripts.ts';
import { canMountDisks, mountSmallDisk } from '../testing/small-disk.ts';
import { createBackupFolder } from './folder.ts';

const JOB = 'database.backup';
const [FIRST_STEP = '', NEXT_STEP = ''] = STEP_NAMES;

/** Databases on which each suite runs. Postgres: Debian's server, which Debian's pg_dump can read. */
interface World {
  dialect: 'sqlite' | 'postgres';
  ending: string;
  /** A database without a schema; its former content is deleted. */
  empty(): Promise<DatabaseTarget>;
}

let folder: string;
let server: DebianPostgres | undefined;
let formerPath: string | undefined;
beforeAll(async () => {
  if (hasDebianPostgres) server = await startDebianPostgres();
  formerPath = process.env.PATH;
  // Other versions of pg_dump refuse the server.
  process.env.PATH = `${DEBIAN_POSTGRES}:${formerPath}`;
});
afterAll(async () => {
  process.env.PATH = formerPath;
  await server?.stop();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-backups-'));
  const made = folder;
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
});

const worlds: readonly World[] = [
  {
    dialect: 'sqlite',
    ending: 'sqlite',
    empty: async () => ({ dialect: 'sqlite', file: join(mkdtempSync(join(folder, 'db-')), 'control.db') }),
  },
  {
    dialect: 'postgres',
    ending: 'pgdump',
    async empty() {
      const url = server?.url ?? '';
      const { default: pg } = await import('pg');
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query('drop schema public cascade; create schema public');
      await client.end();
      return { dialect: 'postgres', url };
    },
  },
];

describe.each(worlds)('backups on $dialect', ({ dialect, ending, empty }) => {
  const needs = dialect === 'postgres' && !hasDebianPostgres;
  const onDatabase = test.skipIf(needs);
  const dir = () => join(folder, 'backups');
  const stored = () => (existsSync(dir()) ? readdirSync(dir()).sort() : []);
  const backups = () => stored().filter((name) => name.endsWith(`.${ending}`));

  async function start(
    target: DatabaseTarget,
    env: Record<string, string> = {},
    seedPeople = true,
  ): Promise<TestApp> {
    const variables = { SERVICE_BACKUP_DIR: dir(), SERVICE_BACKUP_KEEP: '2', ...env };
    const app = await createTestApp(target, { env: variables, seedPeople, replicas: 1 });
    onTestFinished(() => app.close());
    return app;
  }
  const list = async (app: TestApp) =>
    (await app.call(app.people.admin, 'GET', '/v1/admin/backups')).body.items;
  const lastRun = async (app: TestApp) =>
    (await app.call(app.people.admin, 'GET', `/v1/admin/jobs/${JOB}`)).body.last_run;

  onDatabase('the job writes, verifies and keeps the newest', async () => {
    const app = await start(await empty());
    await app.plane.jobs.runNow(JOB);
    expect(await lastRun(app)).toMatchObject({
      state: 'succeeded',
      summary: { name: backups()[0], bytes: expect.any(Number), deleted: 0 },
    });
    expect(await list(app)).toEqual([
      {
        name: expect.stringMatching(new RegExp(`^footlight-\\d{8}-\\d{6}\\.${ending}$`)),
        created_at: new Date(Math.floor(app.clock.nowMs() / SECOND_MS) * SECOND_MS).toISOString(),
        bytes: statSync(join(dir(), backups()[0] ?? '')).size,
        ...{ reason: null, verified: true, database: dialect, release: '0.1.0' },
      },
    ]);
    expect(statSync(dir()).mode & 0o777).toBe(0o700);
    for (const name of stored()) expect(statSync(join(dir(), name)).mode & 0o777).toBe(0o600);

    for (let n = 0; n < 3; n += 1) {
      await app.clock.pass(DAY_MS);
      await app.plane.jobs.runNow(JOB);
    }
    const kept = await list(app);
    expect(kept).toHaveLength(2);
    expect(stored()).toHaveLength(4);
    expect(Date.parse(kept[0].created_at) - Date.parse(kept[1].created_at)).toBeGreaterThanOrEqual(DAY_MS);
    expect(Date.parse(kept[0].created_at)).toBeGreaterThan(app.clock.nowMs() - DAY_MS);
  });

  onDatabase('a backup of the job is restored by scripts/restore', async () => {
    const target = await empty();
    const app = await start(target);
    const before = await app.addPerson('before');
    await app.plane.jobs.runNow(JOB);
    const after = await app.addPerson('after');
    const file = join(dir(), backups()[0] ?? '');
    await app.plane.close();
    const env: Record<string, string> =
      target.dialect === 'sqlite'
        ? { DATABASE_URL: `sqlite:${target.file}` }
        : { DATABASE_URL: target.url, PATH: process.env.PATH ?? '' };
    expect(await runScript('restore', [file], env)).toMatchObject({ code: 0 });
    const restored = await start(target, {}, false);
    const statuses = [before, after].map(async (as) => (await restored.call(as, 'GET', '/v1/me')).status);
    expect(await Promise.all(statuses)).toEqual([200, 401]);
  });

  onDatabase('a damaged, shortened or foreign file is reported, and never deleted', async () => {
    const app = await start(await empty());
    await app.plane.jobs.runNow(JOB);
    const [name = ''] = backups();
    const file = join(dir(), name);
    const check = dialect === 'sqlite' ? checkSqliteBackup : checkPostgresBackup;
    expect(await check(file)).toBeNull();
    const whole = readFileSync(file);
    truncateSync(file, Math.floor(whole.length * 0.6));
    expect((await list(app))[0]).toMatchObject({ name, verified: false });
    expect(await check(file)).toMatch(
      dialect === 'sqlite' ? /^it is (damaged|not a complete SQLite)/ : /^pg_restore failed: /,
    );
    writeFileSync(join(dir(), `footlight-20200101-000000.${ending}`), 'hello '.repeat(500));
    expect(await check(join(dir(), `footlight-20200101-000000.${ending}`))).not.toBeNull();
    for (let n = 0; n < 3; n += 1) {
      await app.clock.pass(DAY_MS);
      await app.plane.jobs.runNow(JOB);
    }
    expect((await list(app)).map(({ verified }: { verified: boolean }) => verified)).toEqual([
      ...[true, true],
      ...[false, false],
    ]);
  });

  onDatabase('a failed run has a sentence, and leaves no file', async () => {
    writeFileSync(dir(), 'a file in the place of the folder');
    const app = await start(await empty());
    await app.plane.jobs.runNow(JOB);
    expect(await lastRun(app)).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('cannot write to the folder of the backups'),
    });
    rmSync(dir());

    if (dialect === 'postgres') {
      const path = process.env.PATH;
      process.env.PATH = folder;
      onTestFinished(() => {
        process.env.PATH = path;
      });
      await app.clock.pass(SECOND_MS);
      await app.plane.jobs.runNow(JOB);
      process.env.PATH = path;
      expect((await lastRun(app)).error).toContain('is not installed: apt-get install postgresql-client');
      expect(stored()).toEqual([]);
      const bin = join(folder, 'bin');
      mkdirSync(bin);
      // A pg_dump that ends well, but writes nothing.
      writeFileSync(join(bin, 'pg_dump'), '#!/bin/sh\nexit 0\n');
      chmodSync(join(bin, 'pg_dump'), 0o755);
      process.env.PATH = `${bin}:${path}`;
      await app.clock.pass(SECOND_MS);
      await app.plane.jobs.runNow(JOB);
      expect((await lastRun(app)).error).toMatch(/^The database cannot be saved: pg_restore failed/);
      expect(stored()).toEqual([]);
    }
  });

  onDatabase(
    'unfinished files of a process that ended are deleted, and those of a running one stay',
    async () => {
      const app = await start(await empty());
      mkdirSync(dir());
      const [old, running] = ['000000', '000001'].map((time) =>
        join(dir(), `footlight-20200101-${time}.${ending}.partial`),
      ) as [string, string];
      for (const file of [old, running]) writeFileSync(file, 'half');
      utimesSync(old, 1, 1);
      await app.plane.jobs.runNow(JOB);
      expect([existsSync(old), existsSync(running)]).toEqual([false, true]);
    },
  );

  describe('for administrators', () => {
    onDatabase('only they list, make, download and delete backups', async () => {
      const app = await start(await empty());
      const name = `footlight-20260101-000000.${ending}`;
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['GET', `/${name}/file`],
        ['DELETE', `/${name}`],
      ] as const) {
        const url = `/v1/admin/backups${path}`;
        refused(await app.call(app.people.alice, method, url), 403, 'forbidden');
        refused(await app.call(null, method, url), 401, 'unauthorized');
      }
    });

    onDatabase('a manual backup is the job, and its file is downloaded byte by byte', async () => {
      const app = await start(await empty());
      const { admin } = app.people;
      const { body: empty_ } = await app.call(admin, 'GET', '/v1/admin/backups');
      expect(empty_).toEqual({ items: [], folder: dir(), keep: 2 });
      const made = await app.call(admin, 'POST', '/v1/admin/backups');
      expect([made.status, made.body.state]).toEqual([202, 'pending']);
      // Other jobs are due too, and one search for due runs claims only some of them.
      const tickAndRead = async () => {
        await app.plane.platform.leader.runNow('jobs.dispatch');
        return lastRun(app);
      };
      await expect
        .poll(tickAndRead, PATIENTLY)
        .toMatchObject({ state: 'succeeded', trigger: 'manual', error: null });
      const [{ name, bytes, reason }] = await list(app);
      expect(reason).toBe('manual');
      const url = `/v1/admin/backups/${name}/file`;
      const answer = await app.plane.inject({
        method: 'GET',
        url,
        headers: { authorization: `Bearer ${admin.token}` },
      });
      expect(answer.statusCode).toBe(200);
      expect(answer.rawPayload.equals(readFileSync(join(dir(), name)))).toBe(true);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': String(bytes),
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="${name}"`,
      });
      expect((await app.call(admin, 'HEAD', url)).headers['content-length']).toBe(String(bytes));
      expect((await app.call(admin, 'DELETE', `/v1/admin/backups/${name}`)).status).toBe(204);
      expect(stored()).toEqual([]);
      refused(await app.call(admin, 'DELETE', `/v1/admin/backups/${name}`), 404, 'not_found');
      refused(await app.call(admin, 'GET', url), 404, 'not_found');
      for (const action of ['backup.download', 'backup.delete'])
        expect(await loggedActivity(app, { action })).toMatchObject([
          { target_type: 'backup', target_id: name, actor_user_id: admin.id },
        ]);
      expect(await loggedActivity(app, { action: 'job.run', target_id: JOB })).toHaveLength(1);
    });

    onDatabase('no other file can be read or deleted', async () => {
      const app = await start(await empty());
      await app.plane.jobs.runNow(JOB);
      const linked = `footlight-20200101-000000.${ending}`;
      const secret = join(folder, 'secret');
      writeFileSync(secret, 'secret');
      symlinkSync(secret, join(dir(), linked));
      mkdirSync(join(dir(), `footlight-20200102-000000.${ending}`));
      const [name = ''] = backups();
      const names = [
        ...[linked, `footlight-20200102-000000.${ending}`, `${name}.json`, `${name}.partial`],
        ...['..%2fsecret', '%2e%2e%2fsecret', `..%2fbackups%2f${name}`, `${name}%00`, 'control.db'],
        `footlight-20200101-000000-..%2f..%2fsecret.${ending}`,
      ];
      for (const each of names) {
        for (const [method, end] of [
          ['GET', '/file'],
          ['DELETE', ''],
        ] as const) {
          const url = `/v1/admin/backups/${each}${end}`;
          const { status, text } = await app.call(app.people.admin, method, url);
          expect([400, 404], `${method} ${url}`).toContain(status);
          expect(text).not.toContain('secret"');
        }
      }
      expect(existsSync(secret)).toBe(true);
      expect(stored()).toContain(linked);
      expect(await list(app)).toHaveLength(1);
    });

    onDatabase('0 kept backups: no schedule, but backups by hand, of which none is deleted', async () => {
      const app = await start(await empty(), { SERVICE_BACKUP_KEEP: '0' });
      const { body } = await app.call(app.people.admin, 'GET', `/v1/admin/jobs/${JOB}`);
      expect(body).toMatchObject({
        next_run_at: null,
        schedule: { interval_secs: 0, locked: true, locked_by: 'SERVICE_BACKUP_KEEP' },
      });
      for (let n = 0; n < 3; n += 1) {
        await app.clock.pass(SECOND_MS);
        await app.plane.jobs.runNow(JOB);
      }
      expect(backups()).toHaveLength(3);
    });
  });

  describe('before a migration', () => {
    const before = () => backups().filter((name) => name.includes('-before-'));

    async function olderDatabase(): Promise<DatabaseTarget> {
      const target = await empty();
      const logger = createLogger('silent');
      await (await openDatabase(target, { logger, lastStep: FIRST_STEP })).close();
      return target;
    }
    const countSteps = async (target: DatabaseTarget) => {
      const opened = await openDatabase(target, { logger: createLogger('silent'), lastStep: FIRST_STEP });
      const rows = await opened.db
        .selectFrom('schema_steps' as never)
        .selectAll()
        .execute();
      await opened.close();
      return rows.length;
    };

    onDatabase('a start saves the former schema, once for each step', async () => {
      const target = await olderDatabase();
      const app = await start(target);
      expect(before()).toEqual([expect.stringContaining(`-before-${NEXT_STEP}.${ending}`)]);
      expect(await list(app)).toMatchObject([{ reason: `before-${NEXT_STEP}`, verified: true }]);
      await app.plane.close();
      await start(target, {}, false);
      expect(before()).toHaveLength(1);
      if (dialect === 'postgres') return;
      const copy = join(folder, 'copy.db');
      copyFileSync(join(dir(), before()[0] ?? ''), copy);
      expect(await countSteps({ dialect: 'sqlite', file: copy })).toBe(1);
    });

    onDatabase('daily backups do not displace it, and a new database needs none', async () => {
      const app = await start(await olderDatabase(), { SERVICE_BACKUP_KEEP: '1' });
      for (let n = 0; n < 3; n += 1) {
        await app.clock.pass(DAY_MS);
        await app.plane.jobs.runNow(JOB);
      }
      expect([before().length, backups().length]).toEqual([1, 2]);
      await app.plane.close();
      rmSync(dir(), { recursive: true });
      await start(await empty());
      expect(stored()).toEqual([]);
    });

    onDatabase('a start without it stops, says what to do, and migrates nothing', async () => {
      const target = await olderDatabase();
      writeFileSync(dir(), 'a file in the place of the folder');
      await expect(start(target)).rejects.toThrow(
        new RegExp(
          `^The database must be migrated \\(${NEXT_STEP}\\), and the backup before the migration failed: .*SERVICE_BACKUP_BEFORE_MIGRATION=0\\.$`,
        ),
      );
      if (dialect === 'sqlite') expect(await countSteps(target)).toBe(1);
      await start(target, { SERVICE_BACKUP_BEFORE_MIGRATION: '0' });
    });
  });
});

test.skipIf(!canMountDisks)('a full disk fails the backup with a sentence, and leaves no file', async () => {
  const disk = mountSmallDisk(16);
  onTestFinished(() => disk.unmount());
  const target = { dialect: 'sqlite', file: join(folder, 'control.db') } as const;
  const database = await openDatabase(target, { logger: createLogger('silent') });
  onTestFinished(() => database.close());
  const dir = join(disk.folder, 'backups');
  const { systemClock } = await import('@footlight/platform');
  const small = createBackupFolder({
    ...{ dir, database: target, clock: systemClock, fileClock: systemClock },
    release: '0.1.0',
  });
  await expect(small.write(null)).rejects.toThrow(/^The disk is too full for a backup: .* MB are needed\.$/);
  expect(readdirSync(dir)).toEqual([]);
});
