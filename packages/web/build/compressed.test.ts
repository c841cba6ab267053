import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { compressedFiles } from './compressed.ts';

type WriteBundle = (options: { dir: string }, bundle: Record<string, object>) => Promise<void>;

test('long scripts and styles get compressed files with the same content', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'compressed-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const long = 'let long = 1;\n'.repeat(500);
  const files = { 'long.js': long, 'long.css': long, 'short.js': 'let short = 1;', 'picture.svg': long };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const write = compressedFiles().writeBundle as unknown as WriteBundle;
  await write({ dir }, Object.fromEntries(Object.keys(files).map((name) => [name, {}])));
  expect(readdirSync(dir).sort()).toEqual(
    [...Object.keys(files), 'long.css.br', 'long.css.gz', 'long.js.br', 'long.js.gz'].sort(),
  );
  expect(brotliDecompressSync(readFileSync(join(dir, 'long.js.br'))).toString()).toBe(long);
  expect(gunzipSync(readFileSync(join(dir, 'long.css.gz'))).toString()).toBe(long);
});
