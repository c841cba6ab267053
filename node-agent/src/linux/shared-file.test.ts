import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readSharedFile } from './shared-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'footlight-shared-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test('a small regular file is read, up to its limit', async () => {
  const file = join(dir, 'file');
  writeFileSync(file, 'eight by');
  expect(await readSharedFile(file, 8)).toEqual({ kind: 'read', bytes: Buffer.from('eight by') });
  expect(await readSharedFile(file, 7)).toEqual({ kind: 'unfit' });
  expect(await readSharedFile(join(dir, 'none'), 8)).toEqual({ kind: 'missing' });
});

test.each<[string, (path: string) => void]>([
  ['a pipe, which would block open', (path) => execFileSync('mkfifo', [path])],
  ['a directory', (path) => mkdirSync(path)],
  ['a link to a small file', (path) => symlinkSync('/etc/hostname', path)],
  ['a link to a device', (path) => symlinkSync('/dev/zero', path)],
])('%s is not read', async (_what, make) => {
  const path = join(dir, 'planted');
  make(path);
  expect(await readSharedFile(path, 1024)).toEqual({ kind: 'unfit' });
});

test('a file with unknown size is read only up to the limit', async () => {
  expect(await readSharedFile('/proc/self/environ', 1)).toEqual({ kind: 'unfit' });
});
