import { mkdtempSync, openSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeSecretFile } from './secret-file.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'secret-file-'));
  file = path.join(dir, 'run', 'token');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const modeOf = (name: string): string => (statSync(name).mode & 0o777).toString(8);

test("the file and its folder are the owner's alone", async () => {
  await writeSecretFile(file, 'first');
  expect(readFileSync(file, 'utf8')).toBe('first\n');
  expect([modeOf(file), modeOf(path.dirname(file))]).toEqual(['600', '700']);
});

test('a reader that has the former file open reads nothing of the new secret', async () => {
  await writeSecretFile(file, 'first');
  rmSync(file);
  writeFileSync(file, 'left by somebody\n', { mode: 0o644 });
  const held = openSync(file, 'r');
  await writeSecretFile(file, 'second');
  expect(readFileSync(held, 'utf8')).toBe('left by somebody\n');
  expect([readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['second\n', '600']);
});

test('a link in its place is not followed', async () => {
  await writeSecretFile(file, 'first');
  rmSync(file);
  const elsewhere = path.join(dir, 'elsewhere');
  writeFileSync(elsewhere, 'untouched', { mode: 0o644 });
  symlinkSync(elsewhere, file);
  await writeSecretFile(file, 'second');
  expect([readFileSync(elsewhere, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['untouched', 'second\n']);
});
