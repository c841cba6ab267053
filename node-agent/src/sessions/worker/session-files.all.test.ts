import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { systemClock } from '@footlight/platform';
import { type AgentFiles, encodeChunk, parseAgentFiles } from '@footlight/protocol/files';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FilePipe } from '../../media/files/file-pipe.ts';
import { SessionFiles } from './session-files.ts';

const MIB = 1024 * 1024;

let home: string;
let answers: AgentFiles[];
let pid: number;
let viewer: FilePipe;
let files: SessionFiles;

/** Starts a fake media worker that forwards one viewer's messages to the file process. */
function open(): void {
  const [near, far] = duplexPair();
  answers = [];
  viewer = new FilePipe(near, {
    onText: (text) => {
      const parsed = parseAgentFiles(text);
      if (parsed.kind === 'message') answers.push(parsed.message);
    },
    onBinary: () => undefined,
    onReset: () => undefined,
    onClosed: () => undefined,
  });
  files = new SessionFiles({
    worker: far,
    clock: systemClock,
    confine: (started) => {
      pid = started;
    },
    order: () => ({ home, user: null, max_bytes: 64 * MIB }),
  });
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'session-files-'));
  open();
});
afterEach(async () => {
  await files.close();
  rmSync(home, { recursive: true, force: true });
});

const ask = (message: object) => viewer.send(JSON.stringify(message));
const answered = (count: number) => expect.poll(() => answers.length, { timeout: 20_000 }).toBe(count);
const uploads = () => readdirSync(join(home, 'Uploads'));

/** Sends half of a file; resolves when the file process has received it. */
async function putHalf(): Promise<void> {
  ask({ type: 'put', id: 1, path: 'Uploads/a', size: 6 });
  await answered(1);
  viewer.send(encodeChunk(1, Buffer.from('abc')));
  await expect
    .poll(() => uploads().map((name) => readFileSync(join(home, 'Uploads', name), 'utf8')))
    .toEqual(['abc']);
}

test('the end of a session during a transfer leaves no file', async () => {
  await putHalf();
  await files.close();
  expect(uploads()).toEqual([]);
});

test('the process has the system call filter of apps', async () => {
  ask({ type: 'list', id: 1, path: '' });
  await answered(1);
  expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Seccomp:\t2$/m);
});

test('the unfinished file of a killed process is removed when its folder is listed', async () => {
  await putHalf();
  process.kill(pid, 'SIGKILL');
  await files.close();
  expect(uploads()).toHaveLength(1);
  open();
  ask({ type: 'put', id: 1, path: 'Uploads/b', size: 6 });
  ask({ type: 'list', id: 2, path: 'Uploads' });
  await answered(2);
  expect(answers[1]).toMatchObject({ type: 'listing', entries: [] });
  expect(uploads()).toHaveLength(1);
  viewer.send(encodeChunk(1, Buffer.from('abcdef')));
  await answered(3);
  expect(uploads()).toEqual(['b']);
});

test('answers that a viewer does not read are limited, and all arrive when it reads again', async () => {
  const many = join(home, 'many');
  mkdirSync(many);
  // Long names, so that few files give a listing of 120 kB.
  for (let n = 0; n < 380; n++) writeFileSync(join(many, `${'x'.repeat(240)} ${n}`), '');
  ask({ type: 'list', id: 0, path: 'many' });
  await answered(1);
  viewer.pause();
  const ids = Array.from({ length: 60 }, (_, n) => n + 1);
  for (const id of ids) ask({ type: 'list', id, path: 'many' });
  ask({ type: 'put', id: 61, path: 'behind them', size: 0 });
  await rests();
  // Not executed yet, because 7 MiB of answers must be sent first.
  expect(existsSync(join(home, 'behind them'))).toBe(false);
  viewer.resume();
  await answered(63);
  expect(answers.map((answer) => answer.id)).toEqual([0, ...ids, 61, 61]);
  expect(existsSync(join(home, 'behind them'))).toBe(true);
});

/** Waits until the file process has no more work. */
async function rests(): Promise<void> {
  let last = '';
  await expect
    .poll(
      () => {
        const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ').slice(13, 15);
        const now = `${user} ${system}`;
        const isSame = now === last;
        last = now;
        return isSame;
      },
      { timeout: 30_000, interval: 500 },
    )
    .toBe(true);
}
