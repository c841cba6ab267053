import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';
import { runScript } from '../testing/operator-scripts.ts';

const SEALING = 'activity.seal';
const keyText = (version: number) => `${version}:${Buffer.alloc(32, version).toString('base64')}`;

describeDatabases('scripts/audit', ({ fresh }) => {
  let folder: string;
  let app: TestApp;
  let env: Record<string, string>;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'footlight-audit-'));
    const target = await fresh();
    app = await createTestApp(target, { env: { SERVICE_SECRET_KEY: keyText(1) } });
    const url = target.dialect === 'sqlite' ? `sqlite:${target.file}` : target.url;
    env = { SERVICE_DATA_DIR: folder, DATABASE_URL: url, SERVICE_SECRET_KEY: keyText(1) };
    for (const name of ['One', 'Two', 'Three'])
      await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name, entitle: 'none' } });
    await seal();
  });
  afterEach(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const audit = (...words: string[]) => runScript('audit', words, env);
  const db = () => app.plane.platform.database.db;
  async function seal(): Promise<void> {
    await app.plane.platform.activity.settled();
    await app.plane.platform.leader.runNow(SEALING);
  }

  test('checks the database of a running control plane, and its export', async () => {
    const { code, output } = await audit('verify');
    expect(output).toMatch(/^Checked 3 sealed entries, from entry 1 .*\nintact\nHead: [0-9a-f]{64}\n$/);
    expect(code).toBe(0);
    const head = output.trim().slice(-64);
    expect(await audit('verify', '--head', head)).toMatchObject({ code: 0 });
    expect(await audit('verify', '--head', 'ab'.repeat(32))).toMatchObject({
      code: 1,
      output: expect.stringContaining('tampered: no entry has the seal that you gave with --head'),
    });

    const file = join(folder, 'export.jsonl');
    expect(await audit('export', file)).toEqual({ code: 0, output: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await audit('export', file)).toMatchObject({ code: 2 });
    const text = readFileSync(file, 'utf8');
    expect((await audit('export')).output).toBe(text);
    expect(await audit('verify', '--file', file, '--head', head)).toEqual({ code: 0, output });
    const changed = join(folder, 'changed.jsonl');
    writeFileSync(changed, text.replace('Two', 'Six'));
    expect(await audit('verify', '--file', changed)).toMatchObject({
      code: 1,
      output: expect.stringContaining('tampered: entry 2 (app.create, '),
    });
    for (const cut of [text.slice(0, -20), text.split('\n').slice(0, 2).join('\n'), `${text}{}\n`]) {
      writeFileSync(changed, cut);
      expect(await audit('verify', '--file', changed)).toMatchObject({ code: 2 });
    }
  });

  test('names the first entry that was changed', async () => {
    await db().updateTable('activity').set({ action: 'app.delete' }).where('id', '=', 2).execute();
    expect(await audit('verify')).toEqual({
      code: 1,
      output: expect.stringMatching(
        /^Checked 1 sealed entries, .*\ntampered: entry 2 \(app\.delete, .*\) does not match its seal\./,
      ),
    });
  });

  test('says what it needs', async () => {
    expect(await audit()).toMatchObject({ code: 2, output: expect.stringContaining('Usage') });
    expect(await audit('verify', '--tail')).toMatchObject({ code: 2 });
    Reflect.deleteProperty(env, 'SERVICE_SECRET_KEY');
    expect(await audit('verify')).toMatchObject({
      code: 2,
      output: expect.stringContaining('Set SERVICE_SECRET_KEY'),
    });
    env.SERVICE_SECRET_KEY = keyText(2);
    expect(await audit('verify')).toMatchObject({
      code: 2,
      output: expect.stringContaining('key of version 1'),
    });
    env.SERVICE_SECRET_KEY_PREVIOUS = keyText(1);
    expect(await audit('verify')).toMatchObject({ code: 0 });
    env.DATABASE_URL = `sqlite:${join(folder, 'nothing.db')}`;
    expect(await audit('verify')).toMatchObject({ code: 2, output: expect.stringContaining('no database') });
  });
});
