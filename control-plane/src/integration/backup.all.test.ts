import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DatabaseTarget } from '../platform/database/index.ts';
import {
  DEBIAN_POSTGRES,
  type DebianPostgres,
  hasDebianPostgres,
  startDebianPostgres,
} from '../testing/debian-postgres.ts';
import { createTestApp, type Person, type TestApp } from '../testing/index.ts';
import { runScript as run } from '../testing/operator-scripts.ts';

/** Final lines of the commands. */
const NOT_IN_IT = 'Pictures of apps, the certificate and the master key of secrets are not in it.';
const NEXT = 'Start the control plane again.';

/** A user id without an account on the machine. */
const OTHER_UID = 54_321;
const MAKES_ADMINS =
  "create trigger t after insert on auth_tokens begin update users set role = 'admin'; end";

let folder: string;
const open = new Set<TestApp>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-backup-'));
});

afterEach(async () => {
  for (const app of open) await app.close();
  open.clear();
  rmSync(folder, { recursive: true, force: true });
});

async function start(target: DatabaseTarget, seedPeople = true): Promise<TestApp> {
  const app = await createTestApp(target, { seedPeople });
  open.add(app);
  return app;
}

async function stop(app: TestApp): Promise<void> {
  open.delete(app);
  await app.close();
}

async function isKnown(app: TestApp, person: Person): Promise<boolean> {
  return (await app.call(person, 'GET', '/v1/me')).status === 200;
}

describe('SQLite', () => {
  let data: string;
  let target: DatabaseTarget & { dialect: 'sqlite' };
  let backup: string;
  const backUp = (file = backup) => run('backup', [file], { SERVICE_DATA_DIR: data });
  const restore = (file = backup) => run('restore', [file], { SERVICE_DATA_DIR: data });

  beforeEach(() => {
    data = join(folder, 'data');
    mkdirSync(data);
    target = { dialect: 'sqlite', file: join(data, 'control.db') };
    backup = join(folder, 'saved');
  });

  test('is saved while the control plane runs and writes, and brought back with all that was answered before', async () => {
    const app = await start(target);
    const before = await app.addPerson('before');
    const backingUp = backUp();
    let done = false;
    void backingUp.then(() => {
      done = true;
    });
    let written = 0;
    while (!done) {
      written += 1;
      await app.addPerson(`busy${written}`);
      // SQLite answers within one turn of the event loop; without a pause the test would never see the end of the
      // backup.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await backingUp).toEqual({ code: 0, output: `Saved to ${backup}. ${NOT_IN_IT}\n` });
    expect(written).toBeGreaterThan(1);
    const after = await app.addPerson('after');
    await stop(app);

    expect(await restore()).toEqual({
      code: 0,
      output: `Restored ${target.file}; what was there is kept as ${target.file}.before-restore. ${NEXT}\n`,
    });
    const restored = await start(target, false);
    expect(await isKnown(restored, before)).toBe(true);
    expect(await isKnown(restored, after)).toBe(false);
    await stop(restored);

    const former = await start({ dialect: 'sqlite', file: `${target.file}.before-restore` }, false);
    expect(await isKnown(former, after)).toBe(true);
  });

  test('a backup is one file that only its owner may read', async () => {
    await start(target);
    await backUp();
    expect(readdirSync(folder).sort()).toEqual(['data', 'saved']);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
  });

  test('a backup overwrites nothing, and without a database it is refused', async () => {
    expect(await backUp()).toEqual({ code: 1, output: `There is no database at ${target.file} yet.\n` });
    writeFileSync(backup, 'something else');
    expect(await backUp()).toEqual({
      code: 1,
      output: `${backup} exists already; a backup overwrites nothing.\n`,
    });
    expect(readFileSync(backup, 'utf8')).toBe('something else');
  });

  test('a backup into a folder that does not exist names the folder', async () => {
    await stop(await start(target));
    const missing = join(folder, 'missing');
    expect(await backUp(join(missing, 'saved'))).toEqual({
      code: 1,
      output: `There is no folder ${missing}. Create it, or choose another place.\n`,
    });
  });

  test('a damaged database is not saved, and nothing stays of the attempt', async () => {
    await stop(await start(target));
    writeFileSync(target.file, 'no database at all, but longer than the header of one would be'.repeat(20));
    const { code, output } = await backUp();
    expect(code).toBe(1);
    expect(output).toMatch(/^\S+control\.db cannot be saved: /);
    expect(readdirSync(folder)).toEqual(['data']);
  });

  test('is not restored while the control plane has it open', async () => {
    const app = await start(target);
    await backUp();
    const alice = app.people.alice;
    expect(await restore()).toEqual({
      code: 1,
      output: `${target.file} is open in another process. Stop the control plane, then restore.\n`,
    });
    expect(await isKnown(app, alice)).toBe(true);
    expect((await app.addPerson('later')).username).toBe('later');
  });

  test('restoring twice keeps the first former file', async () => {
    const app = await start(target);
    await backUp();
    const first = await app.addPerson('first');
    await stop(app);
    await restore();
    await restore();
    expect(
      readdirSync(data)
        .filter((name) => name.includes('before-restore'))
        .sort(),
    ).toEqual(['control.db.before-restore', 'control.db.before-restore-2']);
    const former = await start({ dialect: 'sqlite', file: `${target.file}.before-restore` }, false);
    expect(await isKnown(former, first)).toBe(true);
  });

  test('replaces a damaged database, or a missing one', async () => {
    const app = await start(target);
    await backUp();
    const alice = app.people.alice;
    await stop(app);
    writeFileSync(target.file, 'damaged');
    await expect(start(target, false)).rejects.toThrow('./scripts/restore');
    expect((await restore()).code).toBe(0);
    const restored = await start(target, false);
    expect(await isKnown(restored, alice)).toBe(true);
    await stop(restored);

    rmSync(data, { recursive: true });
    expect(await restore()).toEqual({ code: 0, output: `Restored ${target.file}. ${NEXT}\n` });
    expect(statSync(target.file).mode & 0o777).toBe(0o600);
    expect(await isKnown(await start(target, false), alice)).toBe(true);
  });

  test.skipIf(process.getuid?.() !== 0)(
    'root restores into the folder of another user with no more rights than that user has',
    async () => {
      await stop(await start(target));
      expect((await backUp()).code).toBe(0);
      for (const name of ['', ...readdirSync(data)]) chownSync(join(data, name), OTHER_UID, OTHER_UID);
      // Now only root can access the data folder.
      const before = readFileSync(target.file);
      const { code, output } = await restore();
      expect([code, output]).toEqual([1, expect.stringContaining('EACCES: permission denied')]);
      expect(readFileSync(target.file).equals(before)).toBe(true);
      chmodSync(folder, 0o711);
      expect((await restore()).code).toBe(0);
      expect([statSync(target.file).uid, statSync(target.file).mode & 0o777]).toEqual([OTHER_UID, 0o600]);
    },
  );

  describe('a file that is no backup changes nothing', () => {
    test.each([
      ['missing', () => undefined, /^There is no backup at /],
      ['empty', () => writeFileSync(backup, ''), /cannot be restored: it holds no Footlight database/],
      [
        'text',
        () => writeFileSync(backup, 'hello '.repeat(500)),
        /cannot be restored: it is not a complete SQLite/,
      ],
      ['of another program', () => new Database(backup).exec('create table t (x)').close(), /no Footlight/],
      ['a FIFO', () => execFileSync('mkfifo', [backup]), /^There is no backup at /],
      [
        'with a trigger',
        () => new Database(backup).exec(MAKES_ADMINS).close(),
        /cannot be restored: it holds the trigger t, which Footlight did not make/,
      ],
      [
        'with a trigger in capitals',
        () => {
          const opened = new Database(backup).unsafeMode().exec(MAKES_ADMINS);
          opened.pragma('writable_schema = on');
          opened.exec("update sqlite_master set type = 'TRIGGER' where name = 't'").close();
        },
        /cannot be restored: it holds the trigger t, which Footlight did not make/,
      ],
      [
        'cut off',
        () => truncateSync(backup, 40_960),
        /cannot be restored: it is (damaged|not a complete SQLite)/,
      ],
    ])('%s', async (what, spoil, sentence) => {
      const app = await start(target);
      const alice = app.people.alice;
      if (what === 'cut off' || what.startsWith('with a trigger')) await backUp();
      await stop(app);
      spoil();
      const before = readFileSync(target.file);
      const { code, output } = await restore();
      expect(output).toMatch(sentence);
      expect(code).toBe(1);
      expect(readFileSync(target.file).equals(before)).toBe(true);
      expect(readdirSync(data).filter((name) => /restor/.test(name))).toEqual([]);
      expect(await isKnown(await start(target, false), alice)).toBe(true);
    });
  });
});

describe('Postgres', () => {
  const needs = hasDebianPostgres ? '' : ` (skipped: needs Debian's postgresql-15 in ${DEBIAN_POSTGRES})`;
  let server: DebianPostgres;
  let bin: string;
  let backup: string;
  const env = (url = server.url) => ({
    DATABASE_URL: url,
    PATH: `${bin}:${process.env.PATH}`,
    WORDS_FILE: join(folder, 'words'),
  });

  beforeAll(async () => {
    if (hasDebianPostgres) server = await startDebianPostgres();
  });
  afterAll(() => server?.stop());

  // Programs of the same names that record their arguments, because the process list would show these.
  beforeEach(() => {
    bin = join(folder, 'bin');
    mkdirSync(bin);
    backup = join(folder, 'saved');
    for (const program of ['pg_dump', 'pg_restore', 'psql']) {
      const file = join(bin, program);
      const real = join(DEBIAN_POSTGRES, program);
      writeFileSync(file, `#!/bin/sh\necho "${program} $*" >>"$WORDS_FILE"\nexec ${real} "$@"\n`);
      chmodSync(file, 0o755);
    }
  });

  async function query(statement: string): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      return await client.query(statement);
    } finally {
      await client.end();
    }
  }

  test.skipIf(!hasDebianPostgres)(
    `is saved while the control plane runs, and brought back over a newer schema in one transaction${needs}`,
    async () => {
      const target: DatabaseTarget = { dialect: 'postgres', url: server.url };
      const app = await start(target);
      const alice = app.people.alice;
      expect(await run('backup', [backup], env())).toEqual({
        code: 0,
        output: `Saved to ${backup}. ${NOT_IN_IT}\n`,
      });
      expect(statSync(backup).mode & 0o777).toBe(0o600);
      const after = await app.addPerson('after');

      expect(await run('restore', [backup], env())).toEqual({
        code: 1,
        output: 'A control plane is connected to the Postgres database. Stop it, then restore.\n',
      });
      await stop(app);

      // Add what a newer release could add: a later migration step, and a table that refers to an older one.
      await query('create table of_a_newer_release (user_id text references users (id))');
      await query("insert into schema_steps (name, timestamp) values ('9999-newer', 'now')");

      const cutOff = join(folder, 'cut-off');
      writeFileSync(cutOff, readFileSync(backup).subarray(0, Math.floor(statSync(backup).size * 0.9)));
      const refused = await run('restore', [cutOff], env());
      expect(refused.code).toBe(1);
      expect(refused.output).toMatch(/^pg_restore failed: /);
      expect((await query("select 1 from users where username = 'after'")).rowCount).toBe(1);

      expect(await run('restore', [backup], env())).toEqual({
        code: 0,
        output: `Restored the Postgres database. ${NEXT}\n`,
      });
      const restored = await start(target, false);
      expect(await isKnown(restored, alice)).toBe(true);
      expect(await isKnown(restored, after)).toBe(false);
      expect((await query("select to_regclass('of_a_newer_release') as it")).rows[0]).toEqual({ it: null });

      const words = readFileSync(join(folder, 'words'), 'utf8');
      for (const program of ['pg_dump', 'pg_restore', 'psql']) expect(words).toContain(`${program} `);
      for (const form of [server.password, encodeURIComponent(server.password)])
        expect(words).not.toContain(form);
    },
    60_000,
  );

  test.skipIf(!hasDebianPostgres)(
    `is not restored while a control plane is connected whose DATABASE_URL names its connections${needs}`,
    async () => {
      const named = new URL(server.url);
      named.searchParams.set('application_name', "the operator's");
      const app = await start({ dialect: 'postgres', url: named.href }, false);
      expect((await run('backup', [backup], env(named.href))).code).toBe(0);
      const refused = {
        code: 1,
        output: 'A control plane is connected to the Postgres database. Stop it, then restore.\n',
      };
      expect(await run('restore', [backup], env(named.href))).toEqual(refused);
      await stop(app);
      expect((await run('restore', [backup], env(named.href))).code).toBe(0);
    },
    60_000,
  );

  test.skipIf(!hasDebianPostgres)(
    `what other programs keep in the database is neither saved, nor put back, nor dropped${needs}`,
    async () => {
      const target: DatabaseTarget = { dialect: 'postgres', url: server.url };
      await stop(await start(target, false));
      await query('create schema if not exists shop');
      await query('create table shop.bills as select 1 as id');
      await query('create table orders as select 1 as id');
      expect((await run('backup', [backup], env())).code).toBe(0);
      await query('insert into shop.bills values (2)');

      // The table is in Footlight's schema, but no release of Footlight created it.
      const refused = await run('restore', [backup], env());
      expect(refused).toEqual({
        code: 1,
        output:
          'The schema public holds tables that are not of Footlight: orders. Give Footlight a schema or a database of its own.\n',
      });
      expect((await query('select id from orders')).rows).toEqual([{ id: 1 }]);

      await query('drop table orders');
      expect((await run('restore', [backup], env())).code).toBe(0);
      expect((await query('select id from shop.bills order by id')).rows).toEqual([{ id: 1 }, { id: 2 }]);
      expect((await query("select to_regclass('orders') as it")).rows).toEqual([{ it: null }]);
    },
    60_000,
  );

  test.skipIf(!hasDebianPostgres)(
    `a dump of another program is refused, and a database without Footlight is not saved${needs}`,
    async () => {
      const target: DatabaseTarget = { dialect: 'postgres', url: server.url };
      await stop(await start(target, false));
      await query('create database other');
      const other = new URL(server.url);
      other.pathname = '/other';
      expect(await run('backup', [backup], env(other.href))).toEqual({
        code: 1,
        output: 'The database has no tables of Footlight in the schema public.\n',
      });
      const foreign = join(folder, 'foreign');
      execFileSync(join(DEBIAN_POSTGRES, 'pg_dump'), ['-Fc', '-f', foreign, '-d', other.href]);
      const before = (await query('select count(*) from schema_steps')).rows;
      expect(await run('restore', [foreign], env())).toEqual({
        code: 1,
        output: `${foreign} holds no Footlight database of the schema public.\n`,
      });
      expect((await query('select count(*) from schema_steps')).rows).toEqual(before);
      await query('drop database other');
    },
    60_000,
  );

  test.skipIf(!hasDebianPostgres)(
    `a wrong password is refused, not shown, and leaves no file${needs}`,
    async () => {
      const wrong = new URL(server.url);
      wrong.password = 'not-this-one';
      wrong.searchParams.set('password', 'nor-this-one');
      const whole = join(folder, 'whole');
      expect((await run('backup', [whole], env())).code).toBe(0);
      for (const [script, file, program] of [
        ['backup', backup, 'psql'],
        ['restore', whole, 'psql'],
      ] as const) {
        const { code, output } = await run(script, [file], env(wrong.href));
        expect(code).toBe(1);
        expect(output).toContain(`${program} failed: `);
        expect(output).toContain('password authentication failed');
        expect(output).not.toMatch(/not-this-one|nor-this-one/);
      }
      expect(readFileSync(join(folder, 'words'), 'utf8')).not.toMatch(/not-this-one|nor-this-one/);
      expect(readdirSync(folder).sort()).toEqual(['bin', 'whole', 'words']);
    },
  );

  test('programs that are missing are named with the package that has them', async () => {
    // Provide only the programs that the script itself needs.
    const programs = join(folder, 'few');
    mkdirSync(programs);
    for (const [name, real] of [
      ['node', process.execPath],
      ...['sh', 'dirname', 'sed', 'cut'].map((n) => [n, `/usr/bin/${n}`]),
    ])
      if (name && real)
        writeFileSync(join(programs, name), `#!/bin/sh\nexec ${real} "$@"\n`, { mode: 0o755 });
    const answer = await run('backup', [backup], {
      PATH: programs,
      DATABASE_URL: 'postgres://owner@127.0.0.1:1/none',
    });
    expect(answer).toEqual({
      code: 1,
      output: 'psql is not installed: apt-get install postgresql-client\n',
    });
    expect(existsSync(backup)).toBe(false);
  });
});
