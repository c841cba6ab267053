import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

/** Files shorter than this are not compressed, because compression does not make them smaller. */
const COMPRESS_FROM_BYTES = 1024;
const TEXT_FILE = /\.(js|css)$/;
const ENCODINGS = [
  ['br', promisify(brotliCompress)],
  ['gz', (bytes: Buffer) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION })],
] as const;

/**
 * Writes a `.br` and a `.gz` file next to each script and style. The server sends these files and does not compress a
 * file for each request. Otherwise one client could overload the server with requests for the same file.
 */
export function compressedFiles(): Plugin {
  return {
    name: 'footlight:compressed-files',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      for (const name of Object.keys(bundle).filter((file) => TEXT_FILE.test(file))) {
        const bytes = await readFile(join(dir, name));
        if (bytes.length < COMPRESS_FROM_BYTES) continue;
        for (const [ending, compress] of ENCODINGS)
          await writeFile(join(dir, `${name}.${ending}`), await compress(bytes));
      }
    },
  };
}
