import { execFileSync } from 'node:child_process';
import fs, {
  Dir,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentFiles, decodeChunk, encodeChunk, parseAgentFiles } from '@footlight/protocol/files';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { HomeFiles } from './home-files.ts';
import { FileTransfers } from './transfers.ts';

const MAX_BYTES = 1024 * 1024;

let dir: string;
let home: string;
let outside: string;
let answers: AgentFiles[];
let fetched: Map<number, Buffer>;
let freeBytes: number | null;
let channelTakes: number;
let files: HomeFiles;
let transfers: FileTransfers;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'home-files-'));
  home = join(dir, 'home');
  outside = join(dir, 'outside');
  mkdirSync(home);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'secret');
  [answers, fetched, freeBytes, channelTakes] = [[], new Map(), null, Number.POSITIVE_INFINITY];
  let next = 0;
  files = new HomeFiles(home, () => String(next++).padStart(16, '0'));
  const free = files.freeBytes.bind(files);
  files.freeBytes = () => freeBytes ?? free();
  transfers = new FileTransfers({
    files,
    maxBytes: MAX_BYTES,
    floorBytes: 1_000_000,
    send: (message) => {
      if (typeof message === 'string') {
        const parsed = parseAgentFiles(message);
        if (parsed.kind !== 'message') throw new Error(`no answer of a host: ${message}`);
        answers.push(parsed.message);
        return;
      }
      const chunk = decodeChunk(message);
      if (chunk) fetched.set(chunk.id, Buffer.concat([fetched.get(chunk.id) ?? Buffer.alloc(0), chunk.data]));
    },
    canSend: () => channelTakes-- > 0,
  });
});
afterEach(() => {
  transfers.cancelAll();
  files.close();
  rmSync(dir, { recursive: true, force: true });
});

const ask = (message: object) => {
  transfers.text(JSON.stringify(message));
  transfers.pump();
};
function put(id: number, path: string, text: string, size = Buffer.byteLength(text)): void {
  ask({ type: 'put', id, path, size });
  if (text !== '') transfers.binary(encodeChunk(id, Buffer.from(text)));
}
const get = (id: number, path: string) => ask({ type: 'get', id, path });
const last = () => answers.at(-1);
const read = (...path: string[]) => readFileSync(join(home, ...path), 'utf8');
const parts = (folder = '.') => readdirSync(join(home, folder)).filter((name) => name.endsWith('.part'));

describe('a file that is sent', () => {
  test('arrives whole, in a folder that is made for it', () => {
    put(1, 'Uploads/a.txt', 'hello');
    expect(answers).toEqual([
      { type: 'ready', id: 1 },
      { type: 'done', id: 1, path: 'Uploads/a.txt' },
    ]);
    expect(read('Uploads', 'a.txt')).toBe('hello');
    expect(statSync(join(home, 'Uploads', 'a.txt')).mode & 0o777).toBe(0o644);
    expect(parts('Uploads')).toEqual([]);
  });

  test('has no name before its last byte', () => {
    ask({ type: 'put', id: 1, path: 'a.txt', size: 6 });
    transfers.binary(encodeChunk(1, Buffer.from('abc')));
    expect(existsSync(join(home, 'a.txt'))).toBe(false);
    expect(parts()).toHaveLength(1);
    transfers.binary(encodeChunk(1, Buffer.from('def')));
    expect(read('a.txt')).toBe('abcdef');
    expect(parts()).toEqual([]);
  });

  test('an empty file arrives at once', () => {
    put(1, 'empty', '');
    expect(last()).toEqual({ type: 'done', id: 1, path: 'empty' });
  });

  test('never replaces another: it gets a number', () => {
    for (const id of [1, 2, 3]) put(id, 'a.tar.gz', `${id}`);
    expect(answers.flatMap((answer) => (answer.type === 'done' ? [answer.path] : []))).toEqual([
      'a.tar.gz',
      'a.tar (2).gz',
      'a.tar (3).gz',
    ]);
    expect(read('a.tar.gz')).toBe('1');
  });

  test.each([
    ['its cancel', () => ask({ type: 'cancel', id: 1 })],
    ['the end of its viewer', () => transfers.cancelAll()],
  ])('%s leaves no file', (_what, end) => {
    ask({ type: 'put', id: 1, path: 'a.txt', size: 6 });
    transfers.binary(encodeChunk(1, Buffer.from('abc')));
    end();
    expect(readdirSync(home)).toEqual([]);
    transfers.binary(encodeChunk(1, Buffer.from('def')));
    expect(readdirSync(home)).toEqual([]);
  });

  test('more bytes than announced end the transfer', () => {
    put(1, 'a.txt', 'too many', 3);
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'too_large' });
    expect(readdirSync(home)).toEqual([]);
  });

  test('a file that is too large, or would leave too little space, is refused', () => {
    put(1, 'a', '', MAX_BYTES + 1);
    expect(last()).toMatchObject({ code: 'too_large' });
    freeBytes = 1_500_000;
    put(2, 'a', '', 400_000);
    put(3, 'b', '', 400_000);
    // The second transfer is refused, because the first one has reserved the free space.
    expect(answers.slice(1)).toEqual([
      { type: 'ready', id: 2 },
      { type: 'failed', id: 3, code: 'no_space' },
    ]);
  });

  test('four transfers run at once, and the fifth is refused without effect on them', () => {
    for (const id of [1, 2, 3, 4, 5]) put(id, `f${id}`, '', 3);
    expect(last()).toEqual({ type: 'failed', id: 5, code: 'busy' });
    put(1, 'other', '', 3);
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'busy' });
    for (const id of [1, 2, 3, 4]) transfers.binary(encodeChunk(id, Buffer.from('abc')));
    expect(readdirSync(home).sort()).toEqual(['f1', 'f2', 'f3', 'f4']);
  });
});

describe('a file that is fetched', () => {
  test('arrives in chunks while the channel accepts them', () => {
    writeFileSync(join(home, 'big'), Buffer.alloc(200_000, 7));
    channelTakes = 1;
    get(1, 'big');
    expect(fetched.get(1)?.length).toBe(65_536);
    channelTakes = 100;
    expect(transfers.pump()).toBe(false);
    expect(fetched.get(1)?.length).toBe(200_000);
    expect(answers).toEqual([
      { type: 'ready', id: 1, size: 200_000 },
      { type: 'done', id: 1 },
    ]);
  });

  test('has the length that it had when it was opened, although an app appends to it', () => {
    writeFileSync(join(home, 'log'), Buffer.alloc(100_000, 1));
    channelTakes = 1;
    get(1, 'log');
    writeFileSync(join(home, 'log'), Buffer.alloc(900_000, 2), { flag: 'a' });
    channelTakes = 100;
    transfers.pump();
    expect(fetched.get(1)?.length).toBe(100_000);
  });

  test('a file that is truncated meanwhile fails', () => {
    writeFileSync(join(home, 'log'), Buffer.alloc(100_000, 1));
    channelTakes = 1;
    get(1, 'log');
    writeFileSync(join(home, 'log'), '');
    channelTakes = 100;
    transfers.pump();
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'io' });
  });
});

describe('another name', () => {
  const rename = (path: string, name: string) => ask({ type: 'rename', id: 1, path, name });

  test('is given to a file and to a folder with its content', () => {
    mkdirSync(join(home, 'Saves'));
    writeFileSync(join(home, 'Saves', 'a'), 'first');
    rename('Saves/a', 'b ü');
    rename('Saves', 'Old saves');
    expect(answers).toEqual(Array(2).fill({ type: 'done', id: 1 }));
    expect(readdirSync(home)).toEqual(['Old saves']);
    expect(read('Old saves', 'b ü')).toBe('first');
  });

  test.each(['file', 'folder', 'empty folder', 'link', 'itself'])(
    'that is taken (%s) is refused',
    (taken) => {
      for (const folder of ['folder', 'empty folder']) mkdirSync(join(home, folder));
      for (const file of ['file', 'folder/in', 'itself']) writeFileSync(join(home, file), file);
      symlinkSync('nowhere', join(home, 'link'));
      mkdirSync(join(home, 'other folder'));
      const before = readdirSync(home);
      for (const path of ['itself', 'other folder']) {
        rename(path, taken);
        expect(last()).toEqual({ type: 'failed', id: 1, code: 'exists' });
      }
      expect(readdirSync(home)).toEqual(before);
      expect([read('file'), read('itself'), read('folder', 'in')]).toEqual(['file', 'itself', 'folder/in']);
      expect(lstatSync(join(home, 'link')).isSymbolicLink()).toBe(true);
    },
  );

  test('is not given to a file that is gone, nor taken by it', () => {
    rename('gone', 'new');
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'not_found' });
    expect(readdirSync(home)).toEqual([]);
  });

  test('is free again if an app moves the file at the last moment', () => {
    writeFileSync(join(home, 'a'), '');
    mkdirSync(join(home, 'folder'));
    const renaming = vi.spyOn(fs, 'renameSync').mockImplementation(() => {
      throw Object.assign(new Error('gone'), { code: 'ENOENT' });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      renaming.mockRestore();
      syncBuiltinESMExports();
    });
    for (const path of ['a', 'folder']) {
      rename(path, 'new');
      expect(last()).toEqual({ type: 'failed', id: 1, code: 'not_found' });
    }
    expect(readdirSync(home).sort()).toEqual(['a', 'folder']);
  });

  test.each([
    [''],
    ['.'],
    ['..'],
    ['../outside/new'],
    ['/new'],
    ['folder/new'],
    ['a\nb'],
    ['a\u0000b'],
    ['a\u202eb'],
    // The next listing would remove a file of this name.
    ['.footlight-0123456789abcdef.part'],
  ])('is refused if it is %j', (name) => {
    writeFileSync(join(home, 'a'), 'mine');
    mkdirSync(join(home, 'folder'));
    rename('a', name);
    rename('folder', name);
    expect(answers).toEqual(Array(2).fill({ type: 'failed', id: 1, code: 'not_allowed' }));
    expect(readdirSync(home).sort()).toEqual(['a', 'folder']);
    expect(readdirSync(outside)).toEqual(['secret']);
  });

  test('is not given to an unfinished file, nor to the home itself', () => {
    ask({ type: 'put', id: 2, path: 'a', size: 3 });
    rename(parts()[0] ?? '', 'stolen');
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'not_allowed' });
    rename('', 'stolen');
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'not_allowed' });
    transfers.binary(encodeChunk(2, Buffer.from('abc')));
    expect(readdirSync(home)).toEqual(['a']);
  });

  test('that would make the path too long for every request is refused', () => {
    const deep = Array(4).fill('d'.repeat(250)).join('/');
    mkdirSync(join(home, deep), { recursive: true });
    writeFileSync(join(home, deep, 'a'), '');
    rename(`${deep}/a`, 'b'.repeat(50));
    expect(last()).toMatchObject({ code: 'not_allowed' });
    expect(readdirSync(join(home, deep))).toEqual(['a']);
  });
});

describe('a new folder', () => {
  const mkdir = (path: string) => ask({ type: 'mkdir', id: 1, path });

  test('is made in an existing folder', () => {
    mkdir('Saves');
    mkdir('Saves/old');
    expect(answers).toEqual(Array(2).fill({ type: 'done', id: 1 }));
    expect(statSync(join(home, 'Saves', 'old')).mode & 0o777).toBe(0o755);
    mkdir('missing/new');
    expect(last()).toMatchObject({ code: 'not_found' });
    expect(readdirSync(home)).toEqual(['Saves']);
  });

  test('replaces nothing, and follows no link', () => {
    writeFileSync(join(home, 'file'), 'mine');
    mkdirSync(join(home, 'folder'));
    symlinkSync(join(outside, 'new'), join(home, 'link'));
    for (const taken of ['file', 'folder', 'link']) {
      mkdir(taken);
      expect(last(), taken).toEqual({ type: 'failed', id: 1, code: 'exists' });
    }
    mkdir('file/new');
    expect(last()).toMatchObject({ code: 'not_found' });
    expect(read('file')).toBe('mine');
    expect(readdirSync(outside)).toEqual(['secret']);
  });

  test.each([[''], ['.footlight-0123456789abcdef.part'], [`${'d/'.repeat(64)}f`]])(
    'is refused at %j, where no viewer could use it',
    (path) => {
      mkdirSync(join(home, 'd/'.repeat(64)), { recursive: true });
      mkdir(path);
      expect(last()).toMatchObject({ code: 'not_allowed' });
      expect(readdirSync(home)).toEqual(['d']);
      expect(readdirSync(join(home, 'd/'.repeat(64)))).toEqual([]);
    },
  );

  test('is refused if too little space is left', () => {
    freeBytes = 999_999;
    mkdir('Saves');
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'no_space' });
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('a hostile viewer', () => {
  test.each([
    ['..'],
    ['../outside/secret'],
    ['a/../../outside/secret'],
    ['/etc/passwd'],
    ['.'],
    ['a/./b'],
    ['a//b'],
    ['a\u0000b'],
    ['a\nb'],
    ['a\u202eb'],
    [`${'x'.repeat(256)}`],
    [`${'d/'.repeat(500)}f`],
  ])('gets nothing for the path %j, and writes nothing', (path) => {
    for (const type of ['get', 'put', 'list', 'delete', 'rename', 'mkdir'])
      ask({ type, id: 9, path, size: 3, name: 'new' });
    expect(answers).toHaveLength(6);
    for (const answer of answers) expect(answer).toMatchObject({ type: 'failed', code: 'not_allowed' });
    expect(readdirSync(dir).sort()).toEqual(['home', 'outside']);
    expect(readdirSync(home)).toEqual([]);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
  });

  test('a malformed message and bytes without a transfer are dropped', () => {
    for (const frame of [
      '',
      '{}',
      '[]',
      '{"type":"put","id":-1,"path":"a","size":1}',
      '{"type":"get","id":1}',
    ])
      transfers.text(frame);
    transfers.binary(new Uint8Array(3));
    transfers.binary(encodeChunk(77, Buffer.from('x')));
    transfers.binary(new Uint8Array(70_000));
    expect(answers).toEqual([]);
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('a hostile app', () => {
  /** Entries that an app creates as an attack, and that must never be opened. */
  const planted: [string, (path: string) => void][] = [
    ['a link to a file outside', (path) => symlinkSync(join(outside, 'secret'), path)],
    ['a link to a folder outside', (path) => symlinkSync(outside, path)],
    ['a link to a device', (path) => symlinkSync('/dev/zero', path)],
    ['a pipe, whose opening would wait', (path) => execFileSync('mkfifo', [path])],
  ];
  test.each(planted)(
    'that plants %s: it is neither read, nor written through, nor deleted, nor renamed',
    (_what, plant) => {
      plant(join(home, 'planted'));
      get(1, 'planted');
      ask({ type: 'delete', id: 2, path: 'planted' });
      ask({ type: 'rename', id: 2, path: 'planted', name: 'mine' });
      for (const answer of answers) expect(answer).toMatchObject({ type: 'failed', code: 'not_allowed' });
      expect(answers).toHaveLength(3);
      // A new file must get another name in the same folder, because the name is taken.
      put(3, 'planted', 'mine');
      expect(last()).toEqual({ type: 'done', id: 3, path: 'planted (2)' });
      ask({ type: 'list', id: 4, path: '' });
      expect(last()).toMatchObject({
        entries: expect.arrayContaining([
          expect.objectContaining({ name: 'planted', kind: 'other', size: 0 }),
        ]),
      });
      expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
      expect(readdirSync(outside)).toEqual(['secret']);
    },
  );

  test('whose link replaces a folder of the path: nothing behind it is reached', () => {
    symlinkSync(outside, join(home, 'Uploads'));
    get(1, 'Uploads/secret');
    put(2, 'Uploads/new', 'abc');
    ask({ type: 'list', id: 3, path: 'Uploads' });
    ask({ type: 'delete', id: 4, path: 'Uploads/secret' });
    ask({ type: 'rename', id: 5, path: 'Uploads/secret', name: 'mine' });
    ask({ type: 'mkdir', id: 6, path: 'Uploads/new' });
    expect(answers.map((answer) => answer.type === 'failed' && answer.code)).toEqual(
      Array(6).fill('not_allowed'),
    );
    expect(readdirSync(outside)).toEqual(['secret']);
  });

  test('that swaps the folder of a running transfer for a link: the file stays in the home', () => {
    mkdirSync(join(home, 'Uploads'));
    ask({ type: 'put', id: 1, path: 'Uploads/a', size: 6 });
    renameSync(join(home, 'Uploads'), join(home, 'moved'));
    symlinkSync(outside, join(home, 'Uploads'));
    transfers.binary(encodeChunk(1, Buffer.from('abcdef')));
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(read('moved', 'a')).toBe('abcdef');
  });

  test('that replaces the unfinished file by a link: the link does not get the target’s name', () => {
    ask({ type: 'put', id: 1, path: 'a', size: 6 });
    const [part = ''] = parts();
    rmSync(join(home, part));
    symlinkSync(join(outside, 'secret'), join(home, part));
    transfers.binary(encodeChunk(1, Buffer.from('abcdef')));
    expect(last()).toEqual({ type: 'failed', id: 1, code: 'io' });
    expect(existsSync(join(home, 'a'))).toBe(false);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
  });

  test('with a socket in its home: it is shown and not opened', async () => {
    const server = createServer().listen(join(home, 'socket'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    get(1, 'socket');
    expect(last()).toMatchObject({ code: 'not_allowed' });
  });

  test('with names that no viewer may see: they are omitted', () => {
    for (const name of ['plain', 'a\nb', 'bell\u0007', 'turn\u202eed']) writeFileSync(join(home, name), '');
    ask({ type: 'list', id: 1, path: '' });
    expect(last()).toMatchObject({ entries: [{ name: 'plain' }], truncated: false });
  });

  test('with very many names: a thousand are shown, and the rest is not read', () => {
    for (let count = 0; count < 6_000; count++) writeFileSync(join(home, `file ${count}`), '');
    const reading = vi.spyOn(Dir.prototype, 'readSync');
    onTestFinished(() => reading.mockRestore());
    ask({ type: 'list', id: 1, path: '' });
    const answer = last();
    expect(answer).toMatchObject({ type: 'listing', truncated: true });
    expect(answer?.type === 'listing' && answer.entries.length).toBe(1_000);
    expect(JSON.stringify(answer).length).toBeLessThan(128 * 1024);
    expect(reading.mock.calls.length).toBeGreaterThan(1_000);
    expect(reading.mock.calls.length).toBeLessThan(6_000);
  });

  test('a folder that is not empty stays', () => {
    mkdirSync(join(home, 'full'));
    writeFileSync(join(home, 'full', 'a'), '');
    ask({ type: 'delete', id: 1, path: 'full' });
    expect(last()).toMatchObject({ code: 'not_allowed' });
    ask({ type: 'delete', id: 2, path: 'full/a' });
    ask({ type: 'delete', id: 3, path: 'full' });
    expect(last()).toEqual({ type: 'done', id: 3 });
    expect(lstatSync(home).isDirectory()).toBe(true);
    ask({ type: 'delete', id: 4, path: '' });
    expect(last()).toMatchObject({ code: 'not_allowed' });
  });

  test('with a file of eight exbibytes, as some file systems allow: the folder is still listed', () => {
    // This home is on another file system, because ext4 does not support a file of this size. The other homes of these
    // tests may be on ext4.
    const wide = mkdtempSync('/dev/shm/home-files-');
    onTestFinished(() => rmSync(wide, { recursive: true }));
    execFileSync('truncate', ['--size', String(2n ** 63n - 1n), join(wide, 'sparse')]);
    const ofWide = new HomeFiles(wide, () => '');
    onTestFinished(() => ofWide.close());
    const parsed = parseAgentFiles(JSON.stringify({ type: 'listing', id: 1, ...ofWide.list('') }));
    expect(parsed).toMatchObject({ kind: 'message', message: { entries: [{ name: 'sparse' }] } });
  });

  test('with a folder that cannot be read: no descriptor is kept for it', () => {
    const folder = join(home, 'closed');
    mkdirSync(folder);
    const held = () => readdirSync('/proc/self/fd').length;
    // Simulates a folder that cannot be opened, because root may open every folder.
    const opening = vi.spyOn(fs, 'opendirSync').mockImplementation(() => {
      throw Object.assign(new Error('closed'), { code: 'EACCES' });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      opening.mockRestore();
      syncBuiltinESMExports();
    });
    const before = held();
    for (let id = 0; id < 20; id++) ask({ type: 'list', id, path: 'closed' });
    expect(last()).toMatchObject({ type: 'failed', code: 'not_allowed' });
    expect(held()).toBe(before);
  });

  test('whose home is a link: it is not opened', () => {
    symlinkSync(outside, join(dir, 'linked'));
    expect(() => new HomeFiles(join(dir, 'linked'), () => '')).toThrow();
  });
});
