import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
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
import { systemClock } from '@footlight/platform';
import { withLoopWatched } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownedIds, removeOwnedFiles, removeTree, saysOnlyThatFilesVanished } from './owned-files.ts';

const UID = 71_060;
const LIMIT_SECS = 10;
const RACES = process.env.FOOTLIGHT_LONG === '1' ? 1_000 : 20;
const root = process.getuid?.() === 0;

/** Swaps a directory for a link and back as fast as it can (renameat2 with RENAME_EXCHANGE) until both are gone. */
const SWAP = `
import ctypes, sys
libc = ctypes.CDLL(None)
a, b = (name.encode() for name in sys.argv[1:3])
print("swapping", flush=True)
while libc.renameat2(-100, a, -100, b, 2) == 0: pass
`;

/** Makes empty files with names that begin so: how many, and whose. */
const MANY = `
import os, sys
place, count, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for index in range(count):
  path = place + str(index)
  os.close(os.open(path, os.O_CREAT | os.O_EXCL))
  os.chown(path, uid, uid)
`;

/** Makes and removes directories until it is ended. */
const CHURN = `
import os, shutil, sys
while True:
  for index in range(360): os.makedirs(f"{sys.argv[1]}/{index % 15}/{index % 8}/{index}")
  shutil.rmtree(sys.argv[1])
`;
const SEARCHES = 60;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'footlight-owned-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe('removing a tree', () => {
  test(`whose directories are swapped for links meanwhile leaves what they point to alone, ${RACES} times`, {
    timeout: 600_000,
  }, async () => {
    const canary = join(dir, 'canary');
    mkdirSync(canary);
    const names = Array.from({ length: 50 }, (_, index) => `file-${index}`);
    for (const name of names) writeFileSync(join(canary, name), '');
    for (let race = 0; race < RACES; race++) {
      const tree = join(dir, `tree-${race}`);
      mkdirSync(join(tree, 'swapped'), { recursive: true });
      // The same names: a removal that lists one and removes the other finds something to remove.
      for (const name of names) writeFileSync(join(tree, 'swapped', name), '');
      spawnSync('ln', ['-s', canary, join(tree, 'link')]);
      const swapper = spawn('python3', ['-c', SWAP, join(tree, 'swapped'), join(tree, 'link')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        await new Promise((resolve) => swapper.stdout.once('data', resolve));
        await removeTree(tree);
      } finally {
        await ended(swapper);
      }
      expect(readdirSync(canary), `race ${race}`).toHaveLength(names.length);
      expect(existsSync(tree)).toBe(false);
    }
  });
});

describe.runIf(root)('what a session leaves outside its directories', () => {
  test('goes with its user: files that are open to all, and System V objects; a home stays', async () => {
    const left = ['/tmp', '/var/tmp', '/dev/shm'].map((place) =>
      join(place, `footlight-left-${process.pid}`),
    );
    const home = `/var/tmp/footlight-home-${process.pid}`;
    const others = join(tmpdir(), `footlight-others-${process.pid}`);
    for (const path of [...left, home, others]) {
      mkdirSync(join(path, 'deep'), { recursive: true });
      chownSync(path, path === others ? UID + 1 : UID, UID);
    }
    const asUser = ['--reuid', String(UID), '--regid', String(UID), '--clear-groups', '--'];
    spawnSync('setpriv', [...asUser, 'ipcmk', '-M', '4096', '-S', '1', '-Q']);
    try {
      expect(objectsOf(UID)).toBe(3);
      await removeOwnedFiles(UID, [home], [], LIMIT_SECS, systemClock);
      expect(left.filter((path) => existsSync(path))).toEqual([]);
      expect(objectsOf(UID)).toBe(0);
      expect(existsSync(join(home, 'deep'))).toBe(true);
      expect(existsSync(join(others, 'deep'))).toBe(true);
    } finally {
      for (const path of [...left, home, others]) rmSync(path, { recursive: true, force: true });
    }
  });
});

test.each([
  ["find: '/tmp/a/b': No such file or directory\n", true],
  ["find: '/tmp/a': No such file or directory\nrm: cannot remove './b': No such file or directory\n", true],
  ["find: '/tmp/a': Permission denied\nfind: '/tmp/b': No such file or directory\n", false],
  ["find: '/tmp/\\nfind: x: No such file or directory': Input/output error\n", false],
  ["rm: cannot remove './b': Operation not permitted\n", false],
  ['', false],
])('a search that complains %j is complete: %s', (complaints, complete) => {
  expect(saysOnlyThatFilesVanished(complaints)).toBe(complete);
});

test('a search is complete while directories of others come and go', async () => {
  const churn = spawn('python3', ['-c', CHURN, join(dir, 'busy')], { stdio: 'ignore' });
  try {
    const complete: boolean[] = [];
    for (let search = 0; search < SEARCHES; search++)
      complete.push(await removeOwnedFiles(UID, [], [], LIMIT_SECS, systemClock));
    expect(complete).toEqual(Array(SEARCHES).fill(true));
  } finally {
    const ended = once(churn, 'exit');
    churn.kill('SIGKILL');
    await ended;
  }
});

describe.runIf(root)('an app that leaves many files', () => {
  const FILES = 20_000;
  /** Of the agent's own health answer. */
  const SILENCE_MS = 1_000;

  test('where all may: they go with its user, while this process goes on', async () => {
    const place = `/var/tmp/footlight-many-${process.pid}-`;
    execFileSync('python3', ['-c', MANY, place, String(FILES), String(UID)]);
    try {
      const { result, longestStallMs } = await withLoopWatched(() =>
        removeOwnedFiles(UID, [], [], LIMIT_SECS, systemClock),
      );
      expect(result).toBe(true);
      expect(longestStallMs).toBeLessThan(SILENCE_MS);
    } finally {
      execFileSync('find', ['/var/tmp', '-maxdepth', '1', '-path', `${place}*`, '-delete']);
    }
  });
});

describe.runIf(root)('what a session leaves in open directories of others', () => {
  test('goes with its user, however deep; what is not its own stays, and so do its homes', async () => {
    const other = UID + 1;
    const open = `/var/tmp/footlight-open-${process.pid}`;
    const scratch = join(dir, 'scratch');
    const home = join(scratch, 'home [of] *');
    const inside = (place: string) => join(place, 'theirs', 'deeper');
    const make = (path: string, uid: number) => {
      mkdirSync(path, { recursive: true });
      chownSync(path, uid, uid);
    };
    try {
      for (const place of [open, scratch]) {
        make(inside(place), other);
        make(join(inside(place), 'left'), UID);
        writeFileSync(join(inside(place), 'left', 'secret'), '');
        writeFileSync(join(inside(place), 'secret'), '', { mode: 0o600 });
        chownSync(join(inside(place), 'secret'), UID, UID);
        writeFileSync(join(inside(place), 'not its own'), '');
      }
      make(join(home, 'files'), UID);
      const isClean = await removeOwnedFiles(UID, [home], [scratch], LIMIT_SECS, systemClock);
      for (const place of [open, scratch]) expect(readdirSync(inside(place))).toEqual(['not its own']);
      expect(readdirSync(home)).toEqual(['files']);
      expect(isClean).toBe(true);
    } finally {
      rmSync(open, { recursive: true, force: true });
    }
  });
});

function objectsOf(uid: number): number {
  const tables = [
    ['shm', 'shmid'],
    ['sem', 'semid'],
    ['msg', 'msqid'],
  ] as const;
  return tables.flatMap(([table, column]) =>
    ownedIds(uid, readFileSync(`/proc/sysvipc/${table}`, 'utf8'), column),
  ).length;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
}
