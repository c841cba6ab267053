import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { lookAround, whatIsLeft } from './leftovers.mjs';

const name = `footlight-planted-${randomBytes(6).toString('hex')}`;
const mark = `FOOTLIGHT_TEST_RUN=${name}`;

const ownFolder = mkdtempSync(path.join(tmpdir(), `${name}-own-`));
afterAll(() => rmSync(ownFolder, { recursive: true, force: true }));
const look = () => lookAround(mark, ownFolder);

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function plantProcess(env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('sleep', ['300'], { env: { PATH: process.env.PATH ?? '', ...env }, stdio: 'ignore' });
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

/** What the machine shows more than `before`; other tests leave and take away things at the same time. */
const left = (before: Record<string, string[]>) => whatIsLeft(before, look());

describe('what a run left is found', () => {
  test.each([
    ['the mark of the run', { FOOTLIGHT_TEST_RUN: name }],
    ['the variable of a session', { FOOTLIGHT_SESSION: name }],
  ])('a process with %s', async (_what, env) => {
    const before = look();
    const child = await plantProcess(env);
    expect(left(before)).toContain(`process: ${child.pid} sleep 300`);
  });

  test.each([
    ['any file in the run’s own folder', path.join(ownFolder, 'any-name')],
    ['a file of Footlight in the temporary folder', path.join(tmpdir(), name)],
    ['the lock of a display', `/tmp/.X${name}-lock`],
    ['shared memory with a name', `/dev/shm/${name}`],
  ])('%s', (_what, file) => {
    const before = look();
    plantFile(file);
    expect(left(before)).toContain(`file: ${file}`);
  });

  test('the socket of a display', () => {
    mkdirSync('/tmp/.X11-unix', { recursive: true });
    const before = look();
    expect(left(before)).not.toContain(`file: /tmp/.X11-unix/${name}`);
    plantFile(`/tmp/.X11-unix/${name}`);
    expect(left(before)).toContain(`file: /tmp/.X11-unix/${name}`);
  });

  test('a segment of System V shared memory', () => {
    const before = look();
    const id = /\d+/.exec(spawnSync('/usr/bin/ipcmk', ['--shmem', '4096'], { encoding: 'utf8' }).stdout)?.[0];
    cleanUps.push(() => void spawnSync('/usr/bin/ipcrm', ['--shmem-id', String(id)]));
    expect(left(before)).toContain(`shared memory: ${id}`);
  });
});

describe('what others do meanwhile is not', () => {
  test('a process of another run, or without a mark', async () => {
    const before = look();
    const others = [await plantProcess({ FOOTLIGHT_TEST_RUN: `${name}-other` }), await plantProcess({})];
    const lines = left(before);
    for (const { pid } of others)
      expect(lines.filter((line) => line.startsWith(`process: ${pid} `))).toEqual([]);
  });

  test.each([
    ['the temporary folder', tmpdir()],
    ['/tmp', '/tmp'],
    ['/var/tmp', '/var/tmp'],
    ['/dev/shm', '/dev/shm'],
  ])('a file that another program of this user leaves in %s', (_where, directory) => {
    const before = look();
    const file = plantFile(path.join(directory, `other-program-${randomBytes(6).toString('hex')}`));
    expect(left(before)).not.toContain(`file: ${file}`);
  });

  test('a display of another program of this user', () => {
    const before = look();
    const lock = plantFile(`/tmp/.X${name}-lock`);
    writeFileSync(lock, `${String(process.pid).padStart(10)}\n`);
    expect(left(before)).not.toContain(`file: ${lock}`);
  });

  test('a cache of the tools that run the tests', () => {
    const before = look();
    const file = plantFile(path.join(ownFolder, `tsx-${process.pid}`));
    expect(left(before)).not.toContain(`file: ${file}`);
  });

  test.skipIf(process.getuid?.() !== 0)(
    'a file of somebody else, but one of a session’s user (skipped unless root)',
    () => {
      const before = look();
      const others = plantFile(path.join(tmpdir(), `${name}-others`), 12_345);
      const sessions = plantFile(path.join(tmpdir(), `${name}-sessions`), 70_255);
      const lines = left(before);
      expect(lines).not.toContain(`file: ${others}`);
      expect(lines).toContain(`file: ${sessions}`);
    },
  );

  test('what was there before, and what is gone', () => {
    expect(
      whatIsLeft(
        { process: ['1 old', '2 gone'], file: ['/tmp/a'] },
        { process: ['1 old', '2 new'], file: [], mount: [] },
      ),
    ).toEqual(['process: 2 new']);
  });
});
