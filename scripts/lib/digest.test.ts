import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestOf } from './digest.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'footlight-digest-'));
  write('package.json', '{}');
  write('src/deep/a.ts', 'a');
});

afterEach(() => rmSync(root, { recursive: true }));

function write(file: string, content: string): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), content);
}

const digest = () => digestOf(root, ['package.json', 'src']);

test.each([
  ['a byte', () => write('src/deep/a.ts', 'b')],
  ['a name', () => renameSync(path.join(root, 'src/deep/a.ts'), path.join(root, 'src/deep/b.ts'))],
  ['a new file', () => write('src/b.ts', '')],
  ['a file that is named itself', () => write('package.json', '{"a":1}')],
])('changes with %s', (_what, change) => {
  const before = digest();
  expect(digest()).toBe(before);
  change();
  expect(digest()).not.toBe(before);
});

test.each(['src/node_modules/x.js', 'src/dist/x.js', 'elsewhere/x.ts'])('stays the same with %s', (file) => {
  const before = digest();
  write(file, 'x');
  expect(digest()).toBe(before);
});

test('does not depend on the path of the checkout, so that a moved one is not built again', () => {
  const before = digest();
  const moved = `${root}-moved`;
  renameSync(root, moved);
  root = moved;
  expect(digest()).toBe(before);
});
