import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
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
import { OPEN_TO_ALL, ownedIds, removeOwnedFiles, removeTree } from './owned-files.ts';

const UID = 71_060;
const LIMIT_SECS = 10;
const RACES = process.env.FOOTLIGHT_LONG === '1' ? 1_000 : 20;
const root = process.getuid?.() === 0;

/**
 * Repeatedly swaps a directory with a link, as fast as possible (renameat2 with RENAME_EXCHANGE), until both are
 * removed.
 */
const SWAP = `
import ctypes, sys
libc = ctypes.CDLL(None)
a, b = (name.encode() for name in sys.argv[1:3])
print("swapping", flush=True)
while libc.renameat2(-100, a, -100, b, 2) == 0: pass
`;

/** Creates empty files with the given prefix, number and owner. */
const MANY = `
import os, sys
place, count, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for index in range(count):
  path = place + str(index)
  os.close(os.open(path, os.O_CREAT | os.O_EXCL))
  os.chown(path, uid, uid)
`;

/** Creates and removes directories until it is ended. */
const CHURN = `
import os, shutil, sys
while True:
  for index in range(360): os.makedirs(f"{sys.argv[1]}/{index % 15}/{index % 8}/{index}")
  shutil.rmtree(sys.argv[1])
`;
const SEARCHES = 60;

/**
 * Moves a directory while a search is inside it; inotify shows where the search is. A search that then uses `..` would
 * leave the searched tree.
 */
const MOVE_AWAY = `
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
os.makedirs("b")
for index in range(3000): os.makedirs(f"a/1/2/3/4/5/6/7/{index}")
watch = libc.inotify_init()
OPENED = 0x20
libc.inotify_add_watch(watch, b"a/1/2/3/4/5/6/7", OPENED)
print("ready", flush=True)
places, last = ["a/1/2", "b/2"], 0
while True:
  events, at, is_opened = os.read(watch, 65536), 0, False
  while at < len(events):
    length = struct.unpack_from("iIII", events, at)[3]
    at += 16 + length
    is_opened |= length == 0
  if not is_opened or time.monotonic() - last < 0.004: continue
  last = time.monotonic()
  os.rename(*places)
  places.reverse()
`;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'footlight-owned-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe('removing a tree', () => {
  test(`whose directories are swapped for links meanwhile does not touch the links’ targets, ${RACES} times`, {
    timeout: 600_000,
  }, async () => {
    const canary = join(dir, 'canary');
    mkdirSync(canary);
    const names = Array.from({ length: 50 }, (_, index) => `file-${index}`);
    for (const name of names) writeFileSync(join(canary, name), '');
    for (let race = 0; race < RACES; race++) {
      const tree = join(dir, `tree-${race}`);
      mkdirSync(join(tree, 'swapped'), { recursive: true });
      // Both directories contain the same names. So a removal that lists one directory but removes in the other one
      // would remove files.
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
  test('is removed with its user: files in world-writable directories, and System V objects; a home stays', async () => {
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
      await removeOwnedFiles(UID, [home], OPEN_TO_ALL, LIMIT_SECS, systemClock);
      expect(left.filter((path) => existsSync(path))).toEqual([]);
      expect(objectsOf(UID)).toBe(0);
      expect(existsSync(join(home, 'deep'))).toBe(true);
      expect(existsSync(join(others, 'deep'))).toBe(true);
    } finally {
      for (const path of [...left, home, others]) rmSync(path, { recursive: true, force: true });
    }
  });
});

test('a search is complete even while others create and remove directories', async () => {
  chmodSync(dir, 0o755);
  const churn = spawn('python3', ['-c', CHURN, join(dir, 'busy')], { stdio: 'ignore' });
  try {
    const complete: boolean[] = [];
    for (let search = 0; search < SEARCHES; search++)
      complete.push(await removeOwnedFiles(UID, [], OPEN_TO_ALL, LIMIT_SECS, systemClock));
    expect(complete).toEqual(Array(SEARCHES).fill(true));
  } finally {
    const ended = once(churn, 'exit');
    churn.kill('SIGKILL');
    await ended;
  }
});

describe.runIf(root)('beside an app that moves directories away from the search', () => {
  const other = UID + 1;
  let mover: ChildProcess;
  let moved: string;
  let older: string;

  beforeEach(async () => {
    older = openDirectory('/var/tmp/footlight-older-');
    moved = openDirectory('/var/tmp/footlight-moved-');
    chownSync(moved, other, other);
    const ids = { uid: other, gid: other };
    // The system's python3 is used, because this user perhaps cannot run the python3 of the tests.
    mover = spawn('/usr/bin/python3', ['-c', MOVE_AWAY, moved], {
      ...ids,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(mover.stdout ?? mover, 'data');
  });

  afterEach(async () => {
    await ended(mover);
    for (const path of [moved, older]) rmSync(path, { recursive: true });
  });

  test('it misses nothing, or reports that it is not complete', async () => {
    // One directory is newer and one is older than the moved directory. So a search visits at least one of them after
    // the moved one, in any order.
    const newer = openDirectory('/var/tmp/footlight-newer-');
    try {
      for (let search = 0; search < 5; search++) {
        const left = [older, newer].map((directory) => join(directory, 'left'));
        for (const path of left) {
          writeFileSync(path, 'secret', { mode: 0o600 });
          chownSync(path, UID, UID);
        }
        const isComplete = await removeOwnedFiles(UID, [], OPEN_TO_ALL, LIMIT_SECS, systemClock);
        if (isComplete) expect(left.filter((path) => existsSync(path))).toEqual([]);
      }
    } finally {
      rmSync(newer, { recursive: true });
    }
  });
});

describe.runIf(root)('an app that leaves many files', () => {
  const FILES = 20_000;
  /** The tests accept at most this time without an answer of the agent's health page. */
  const SILENCE_MS = 1_000;

  test('in world-writable directories: they are removed with its user, and this process is not blocked', async () => {
    const place = `/var/tmp/footlight-many-${process.pid}-`;
    execFileSync('python3', ['-c', MANY, place, String(FILES), String(UID)]);
    try {
      const { result, longestStallMs } = await withLoopWatched(() =>
        removeOwnedFiles(UID, [], OPEN_TO_ALL, LIMIT_SECS, systemClock),
      );
      expect(result).toBe(true);
      expect(longestStallMs).toBeLessThan(SILENCE_MS);
    } finally {
      execFileSync('find', ['/var/tmp', '-maxdepth', '1', '-path', `${place}*`, '-delete']);
    }
  });
});

describe.runIf(root)('what a session leaves in open directories of others', () => {
  test('is removed with its user, however deep; files of others and homes stay', async () => {
    const other = UID + 1;
    const open = `/var/tmp/footlight-open-${process.pid}`;
    const scratch = join(dir, 'scratch');
    const home = join(scratch, 'home [of] *');
    const inside = (place: string) => join(place, 'theirs', 'deeper');
    const make = (path: string, uid: number) => {
      mkdirSync(path, { recursive: true });
      chownSync(path, uid, uid);
    };
    chmodSync(dir, 0o755);
    try {
      for (const place of [open, scratch]) {
        make(inside(place), other);
        chmodSync(inside(place), 0o777);
        make(join(inside(place), 'left'), UID);
        writeFileSync(join(inside(place), 'left', 'secret'), '');
        writeFileSync(join(inside(place), 'secret'), '', { mode: 0o600 });
        chownSync(join(inside(place), 'secret'), UID, UID);
        writeFileSync(join(inside(place), 'not its own'), '');
      }
      make(join(home, 'files'), UID);
      const isClean = await removeOwnedFiles(UID, [home], [...OPEN_TO_ALL, scratch], LIMIT_SECS, systemClock);
      for (const place of [open, scratch]) expect(readdirSync(inside(place))).toEqual(['not its own']);
      expect(readdirSync(home)).toEqual(['files']);
      expect(isClean).toBe(true);
    } finally {
      rmSync(open, { recursive: true, force: true });
    }
  });
});

/** Creates a directory in which every user may create files, but may remove only their own files. */
function openDirectory(prefix: string): string {
  const path = mkdtempSync(prefix);
  chmodSync(path, 0o1777);
  return path;
}

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
