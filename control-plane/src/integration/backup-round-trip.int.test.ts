import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestApp } from '../testing/index.ts';
import { runScript } from '../testing/operator-scripts.ts';

test('a backup of a running control plane restores what was saved, and keeps the replaced file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, 'data');
  mkdirSync(data);
  const file = join(data, 'control.db');
  const backup = join(folder, 'saved');
  const env = { SERVICE_DATA_DIR: data };

  const app = await createTestApp({ dialect: 'sqlite', file });
  const before = await app.addPerson('before');
  expect(await runScript('backup', [backup], env)).toMatchObject({ code: 0 });
  const after = await app.addPerson('after');
  await app.close();
  expect(await runScript('restore', [backup], env)).toMatchObject({ code: 0 });

  const restored = await createTestApp({ dialect: 'sqlite', file }, { seedPeople: false });
  const statuses = [before, after].map(async (as) => (await restored.call(as, 'GET', '/v1/me')).status);
  expect(await Promise.all(statuses)).toEqual([200, 401]);
  await restored.close();
  const former = await createTestApp(
    { dialect: 'sqlite', file: `${file}.before-restore` },
    { seedPeople: false },
  );
  expect((await former.call(after, 'GET', '/v1/me')).status).toBe(200);
  await former.close();
});
