import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { extract, type Headers, pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ArchiveRefused, writeBuildContext } from './build-context.ts';

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'footlight-context-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function archive(entries: (Partial<Headers> & { name: string; text?: string })[], gzip = true) {
  const writer = pack();
  for (const { text = '', ...header } of entries) writer.entry(header as Headers, text);
  writer.finalize();
  count += 1;
  const file = join(folder, `archive-${count}`);
  const stages = gzip ? [createGzip()] : [];
  await pipeline([writer, ...stages, createWriteStream(file)] as never);
  return file;
}

async function contextOf(file: string, subdir = '', limits?: { bytes: number; entries: number }) {
  count += 1;
  const target = join(folder, `context-${count}`);
  await writeBuildContext(file, target, subdir, limits);
  const reader = extract();
  const found: Record<string, string> = {};
  const reading = (async () => {
    for await (const entry of reader) {
      let text = '';
      for await (const chunk of entry) text += String(chunk);
      const { name, type, linkname } = entry.header;
      found[name] = type === 'file' ? text : `${type} ${linkname ?? ''}`.trim();
    }
  })();
  await pipeline(createReadStream(target), reader);
  await reading;
  return found;
}

describe('the context of a build', () => {
  const HONEST = [
    { name: 'repo-1/', type: 'directory' as const },
    { name: 'repo-1/README', text: 'read me' },
    { name: 'repo-1/image/Containerfile', text: 'FROM scratch' },
    { name: 'repo-1/image/bin/app', text: '#!/bin/sh', mode: 0o4755 },
    { name: 'repo-1/image/bin/link', type: 'symlink' as const, linkname: '../Containerfile' },
    { name: 'repo-1/image/again', type: 'link' as const, linkname: 'repo-1/image/bin/app' },
  ];

  test.each([true, false])('is a folder of the archive (gzip: %s)', async (gzip) => {
    expect(await contextOf(await archive(HONEST, gzip), 'repo-1/image')).toEqual({
      Containerfile: 'FROM scratch',
      'bin/app': '#!/bin/sh',
      'bin/link': 'symlink ../Containerfile',
      again: 'link bin/app',
    });
  });

  test('or the whole archive', async () => {
    expect(Object.keys(await contextOf(await archive(HONEST)))).toContain('repo-1/README');
  });

  test.each<[string, Partial<Headers> & { name: string }]>([
    ['an absolute path', { name: '/etc/cron.d/x' }],
    ['dot-dot', { name: '../x' }],
    ['dot-dot inside', { name: 'a/../../x' }],
    ['a link to an absolute path', { name: 'a', type: 'symlink', linkname: '/etc/passwd' }],
    ['a link out of the archive', { name: 'a/b', type: 'symlink', linkname: '../../etc' }],
    ['a hard link out of the archive', { name: 'a', type: 'link', linkname: '../../etc/shadow' }],
    ['a hard link to an absolute path', { name: 'a', type: 'link', linkname: '/etc/shadow' }],
    ['a character device', { name: 'a', type: 'character-device', devmajor: 1, devminor: 1 }],
    ['a block device', { name: 'a', type: 'block-device', devmajor: 8, devminor: 0 }],
    ['a pipe', { name: 'a', type: 'fifo' }],
  ])('refused: %s', async (_name, entry) => {
    const file = await archive([{ name: 'Containerfile', text: 'FROM scratch' }, entry]);
    await expect(contextOf(file)).rejects.toThrow(ArchiveRefused);
  });

  test('refused: a file behind a link', async () => {
    const file = await archive([
      { name: 'a', type: 'symlink', linkname: 'b' },
      { name: 'a/x', text: 'x' },
    ]);
    await expect(contextOf(file)).rejects.toThrow('behind a link');
  });

  test('refused: a hard link out of the folder', async () => {
    const file = await archive([
      { name: 'secret', text: 'x' },
      { name: 'image/a', type: 'link', linkname: 'secret' },
    ]);
    await expect(contextOf(file, 'image')).rejects.toThrow('links out of the context');
  });

  test('refused: a folder outside of the archive, or not in it', async () => {
    const file = await archive(HONEST);
    await expect(contextOf(file, '../x')).rejects.toThrow(ArchiveRefused);
    await expect(contextOf(file, 'repo-2')).rejects.toThrow('has nothing in repo-2');
  });

  test('a decompression bomb is stopped at the size limit', async () => {
    const file = join(folder, 'bomb');
    await writeFile(file, gzipSync(Buffer.alloc(64 * 1024 * 1024)));
    await expect(contextOf(file, '', { bytes: 1024 * 1024, entries: 10 })).rejects.toThrow(ArchiveRefused);
    const full = await archive([{ name: 'zeros', text: '0'.repeat(4 * 1024 * 1024) }]);
    await expect(contextOf(full, '', { bytes: 1024 * 1024, entries: 10 })).rejects.toThrow(
      'more than 1048576 bytes',
    );
    const many = await archive(Array.from({ length: 11 }, (_, number) => ({ name: `f${number}` })));
    await expect(contextOf(many, '', { bytes: 1e9, entries: 10 })).rejects.toThrow('more than 10 entries');
  });

  test.each(['x', 'g', 'L', 'K'])(
    'a name or attribute of 64 MiB fails, and is not kept in memory: %s',
    async (type) => {
      const header = Buffer.alloc(512);
      header.write('long', 0);
      header.write(`0000644\0${'0000000\0'.repeat(2)}`, 100);
      header.write(`${(64 * 1024 * 1024).toString(8).padStart(11, '0')}\0`, 124);
      header.write('00000000000\0        ', 136);
      header.write(type, 156);
      header.write('ustar\u000000', 257);
      const sum = header.reduce((all, byte) => all + byte, 0);
      header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
      const file = join(folder, `long-${type}`);
      await writeFile(file, gzipSync(Buffer.concat([header, Buffer.alloc(64 * 1024 * 1024)])));
      await expect(contextOf(file)).rejects.toThrow('has a header that is too long');
    },
  );

  test('a file that is not an archive gives an error', async () => {
    const file = join(folder, 'text');
    await writeFile(file, 'this is not an archive '.repeat(100));
    await expect(contextOf(file)).rejects.toThrow(ArchiveRefused);
  });

  test('nothing is written outside of the context', async () => {
    const before = await readdir(folder);
    await contextOf(await archive(HONEST), 'repo-1/image');
    const added = (await readdir(folder)).filter((name) => !before.includes(name));
    expect(added.every((name) => /^(archive|context)-\d+$/.test(name))).toBe(true);
  });
});
