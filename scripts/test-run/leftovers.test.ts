import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { leftBehind, lookAround, nameTag, whatIsLeft } from './leftovers.mjs';

const runId = randomBytes(8).toString('hex');
const name = `footlight-${nameTag(runId)}-planted`;
const TEST_USER = 79_999;
const isRoot = process.getuid?.() === 0;

const ownFolder = mkdtempSync(path.join(tmpdir(), `${name}-own-`));
afterAll(() => rmSync(ownFolder, { recursive: true, force: true }));
const look = () => lookAround(runId, [ownFolder]);

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function plantProcess(env: Record<string, string>, uid?: number): Promise<ChildProcess> {
  const options = { env: { PATH: process.env.PATH ?? '', ...env }, stdio: 'ignore' } as const;
  const child = spawn('sleep', ['300'], uid === undefined ? options : { ...options, uid });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  cleanUps.push(() => {
    child.kill('SIGKILL');
    return exited;
  });
  await new Promise((resolve) => child.once('spawn', resolve));
  return child;
}

function plantFile(file: string, uid?: number): string {
  writeFileSync(file, '');
  cleanUps.push(() => rmSync(file, { force: true }));
  if (uid !== undefined) chownSync(file, uid, uid);
  return file;
}

/** New objects on the machine compared with `before`. Other tests create and remove objects at the same time. */
const left = (before: Record<string, string[]>) => whatIsLeft(before, look());

describe('leftovers of a run are found', () => {
  test('a process with the mark of the run', async () => {
    const before = look();
    const child = await plantProcess({ FOOTLIGHT_TEST_RUN: runId });
    expect(left(before)).toContain(`process: ${child.pid} sleep 300`);
  });

  test.skipIf(!isRoot)('a process of a session that a test had (skipped unless root)', async () => {
    const before = look();
    const child = await plantProcess({ FOOTLIGHT_SESSION: name }, TEST_USER);
    expect(left(before)).toContain(`process: ${child.pid} sleep 300`);
  });

  test.each([
    ['any file in the run’s own folder', path.join(ownFolder, 'any-name')],
    ['a file with the run’s name in a shared folder', path.join('/var/tmp', name)],
    ['shared memory with that name', `/dev/shm/${name}`],
  ])('%s', (_what, file) => {
    const before = look();
    plantFile(file);
    expect(left(before)).toContain(`file: ${file}`);
  });

  test.skipIf(!isRoot)('the lock and the socket of a session’s display (skipped unless root)', () => {
    mkdirSync('/tmp/.X11-unix', { recursive: true });
    const before = look();
    const files = [`/tmp/.X${runId}-lock`, `/tmp/.X11-unix/${runId}`];
    for (const file of files) plantFile(file, TEST_USER);
    expect(left(before)).toEqual(expect.arrayContaining(files.map((file) => `file: ${file}`)));
  });

  test.skipIf(!isRoot)('a segment of System V shared memory (skipped unless root)', () => {
    const before = look();
    const made = spawnSync('/usr/bin/ipcmk', ['--shmem', '4096'], { encoding: 'utf8', uid: TEST_USER });
    const id = /\d+/.exec(made.stdout)?.[0];
    cleanUps.push(() => void spawnSync('/usr/bin/ipcrm', ['--shmem-id', String(id)]));
    expect(left(before)).toContain(`shared memory: ${id}`);
  });
});

describe('things of other programs are not', () => {
  test.each([
    ['of another run', { FOOTLIGHT_TEST_RUN: `${runId}-other` }],
    ['of a session that no test had', { FOOTLIGHT_SESSION: name }],
    ['without a mark', {}],
  ])('a process %s', async (_what, env) => {
    const before = look();
    const { pid } = await plantProcess(env);
    expect(left(before).filter((line) => line.startsWith(`process: ${pid} `))).toEqual([]);
  });

  test.each([tmpdir(), '/tmp', '/var/tmp', '/dev/shm'])('a file of another program in %s', (directory) => {
    const before = look();
    const file = plantFile(path.join(directory, `footlight-other-${randomBytes(6).toString('hex')}`));
    expect(left(before)).not.toContain(`file: ${file}`);
  });

  test('a cache of the tools that run the tests', () => {
    const before = look();
    const file = plantFile(path.join(ownFolder, `tsx-${process.pid}`));
    expect(left(before)).not.toContain(`file: ${file}`);
  });

  test('things that existed before, and things that are gone', () => {
    expect(
      whatIsLeft(
        { process: ['1 old', '2 gone'], file: ['/tmp/a'] },
        { process: ['1 old', '2 new'], file: [], mount: [] },
      ),
    ).toEqual(['process: 2 new']);
  });
});

test('a thing that disappears a moment later is not a leftover', async () => {
  const looks = [{ process: ['1 late'] }, { process: ['1 late'] }, { process: [] }];
  expect(await leftBehind({ process: [] }, () => looks.shift() ?? {})).toEqual([]);
  expect(looks).toEqual([]);
});
