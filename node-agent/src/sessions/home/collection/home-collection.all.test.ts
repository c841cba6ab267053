import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLogger, systemClock, systemRandom } from '@footlight/platform';
import type { DueHome } from '@footlight/protocol/agent';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloneMarkName } from '../../../linux/clone-mark.ts';
import { closeHome, openHome } from '../home.ts';
import { HomeLocks } from '../home-locks.ts';
import { HomeCollection, type HomeCollectionOptions, type VolumeRemover } from './home-collection.ts';
import { ControlModel } from './testing/control-model.ts';

const IS_ROOT = process.getuid?.() === 0;
const USER = { uid: 71_360, gid: 71_360, groups: [] };

const NO_ENGINE: VolumeRemover = {
  ready: () => Promise.reject(new Error('no container engine')),
  remove: () => Promise.reject(new Error('no container engine')),
};

let directory: string;
let stateDir: string;
let root: string;
let outside: string;
let locks: HomeLocks;
let control: ControlModel;
let collection: HomeCollection;
let undo: (() => void)[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'footlight-collection-'));
  [stateDir, root, outside] = ['state', 'homes', 'outside'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(stateDir);
  mkdirSync(outside);
  writeFileSync(join(outside, 'precious'), 'precious');
  undo = [];
  control = new ControlModel();
  collection = started();
});

afterEach(() => {
  collection.close();
  for (const step of undo.reverse()) step();
  rmSync(directory, { recursive: true, force: true });
});

/** Starts the agent's next process. */
function started(
  options: Partial<HomeCollectionOptions> = {},
  volumes: VolumeRemover = NO_ENGINE,
): HomeCollection {
  locks = new HomeLocks(systemClock);
  return new HomeCollection(
    {
      stateDir,
      root: () => ({ path: root, isOwn: true }),
      isSessionsGroup: (gid) => gid === USER.gid,
      ...options,
    },
    {
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger(),
      locks,
      control,
      volumes,
      changed: () => undefined,
    },
  );
}

/** Simulates that this process was killed, and starts the next one. */
async function restarted(volumes: VolumeRemover = NO_ENGINE): Promise<void> {
  collection.close();
  collection = started({}, volumes);
  await collection.open();
}

/** Simulates that the process ends after its query and before the answer. */
async function cutOff(due: DueHome): Promise<void> {
  control.beforeAnswer = () => {
    collection.close();
    throw new Error('cut off');
  };
  await collection.run();
  control.beforeAnswer = () => undefined;
  expect([existsSync(due.ref), existsSync(trashOf(due)), notes()]).toEqual([false, true, [`${due.id}.json`]]);
}

/** Creates a home that a session has created, used and closed. */
async function home(name: string, files: Record<string, string> = { save: 'of a game' }): Promise<DueHome> {
  const ref = join(root, name);
  const user = IS_ROOT ? USER : null;
  await openHome(root, ref, user);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(ref, file)), { recursive: true });
    writeFileSync(join(ref, file), text);
  }
  await closeHome(ref, user);
  return { id: randomUUID(), provider: 'local', ref };
}

async function dueHome(name: string, files?: Record<string, string>): Promise<DueHome> {
  const made = await home(name, files);
  control.add(made);
  return made;
}

const trashOf = ({ id, ref }: DueHome) => join(dirname(ref), `.trash-${id}`);
const notes = () => (existsSync(join(stateDir, 'gc')) ? readdirSync(join(stateDir, 'gc')) : []);
const sh = (script: string, ...args: string[]) => execFileSync('/bin/sh', ['-euc', script, 'sh', ...args]);

describe('a home that is past its grace', () => {
  test('is removed with its content, and nothing else is', async () => {
    const due = await dueHome('alice-1/game-2', { 'a/b/c': '', 'a/d': '' });
    const others = [await home('alice-1/other-3'), await home('bob-4/game-2')];
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    expect(existsSync(due.ref)).toBe(false);
    for (const { ref } of others) expect(readFileSync(join(ref, 'save'), 'utf8')).toBe('of a game');
    expect([notes(), collection.problems, control.asked]).toEqual([[], [], [due.id]]);
    expect(readdirSync(root).filter((name) => !name.startsWith('.'))).toEqual(['alice-1', 'bob-4']);
  });

  test('is removed with its parent directory if it was the last in it, because the name identifies the person', async () => {
    await dueHome('alice-1/game-2');
    await home('bob-4/game-2');
    await collection.run();
    expect(readdirSync(root).filter((name) => !name.startsWith('.'))).toEqual(['bob-4']);
  });

  test('is already gone: only its record is deleted', async () => {
    await home('bob-4/game-2');
    const due: DueHome = { id: randomUUID(), provider: 'local', ref: join(root, 'alice-1/game-2') };
    control.add(due);
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    expect(control.stateOf(due.id)).toBe('deleted');
  });

  test('is not gone because its disk is not mounted', async () => {
    mkdirSync(root);
    const due: DueHome = { id: randomUUID(), provider: 'local', ref: join(root, 'alice-1/game-2') };
    control.add(due);
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect([control.asked, collection.problems]).toMatchObject([[], [{ id: due.id, why: /disk mounted/ }]]);
  });

  test('more than a hundred are all collected in one run', async () => {
    for (let number = 0; number < 103; number++) await dueHome(`alice-1/game-${number}`, {});
    expect(await collection.run()).toEqual({ deleted: 103, kept: 0, failed: 0 });
  });

  test.each([
    ['with pages', true],
    ['without pages, as an older control plane', false],
  ])('after a hundred that cannot be collected is collected too: %s', async (_name, pages) => {
    control.pages = pages;
    const count = pages ? 103 : 50;
    for (let number = 0; number < count; number++) {
      const due = await dueHome(`alice-1/game-${number}`, {});
      rmSync(due.ref, { recursive: true });
      symlinkSync(outside, due.ref);
    }
    const young = [await dueHome('bob-4/game-1'), await dueHome('bob-4/game-2')];
    expect(await collection.run()).toEqual({ deleted: 2, kept: 0, failed: count });
    expect(young.map(({ ref }) => existsSync(ref))).toEqual([false, false]);
    expect(collection.problems).toHaveLength(count);
  });

  test('is asked for again until there is an answer', async () => {
    const due = await dueHome('alice-1/game-2');
    let failures = 2;
    control.beforeAnswer = () => {
      failures -= 1;
      if (failures >= 0) throw new Error('no answer');
    };
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    expect(control.asked).toEqual([due.id, due.id, due.id]);
  });
});

describe('a home that is a copy of its base', () => {
  const markOf = ({ ref }: DueHome) => join(dirname(ref), cloneMarkName(basename(ref)));
  async function dueCopy(): Promise<DueHome> {
    const due = await dueHome('alice-1/game-2');
    writeFileSync(markOf(due), '/srv/base\n');
    return due;
  }

  test('is removed with the mark next to it, so that a new home at its path is no copy', async () => {
    const due = await dueCopy();
    await home('bob-4/game-2');
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    expect(existsSync(dirname(due.ref))).toBe(false);
  });

  test('has no mark any more when the next session can create a home at its path', async () => {
    const due = await dueCopy();
    let session: Promise<boolean> | null = null;
    control.beforeAnswer = () => {
      session = locks
        .take(due.ref, 20_000, new AbortController().signal)
        .then((release) => release !== null && existsSync(markOf(due)));
      control.beforeAnswer = () => undefined;
    };
    expect(await collection.run()).toMatchObject({ deleted: 1 });
    expect(await session).toBe(false);
  });

  test('stays a copy if it is kept', async () => {
    const due = await dueCopy();
    control.beforeAnswer = () => control.set(due.id, 'kept');
    expect(await collection.run()).toMatchObject({ kept: 1 });
    expect([existsSync(due.ref), existsSync(markOf(due))]).toEqual([true, true]);
  });

  test('leaves no mark if its files are already gone', async () => {
    const due = await dueCopy();
    await home('bob-4/game-2');
    rmSync(due.ref, { recursive: true });
    expect(await collection.run()).toMatchObject({ deleted: 1 });
    expect(existsSync(markOf(due))).toBe(false);
  });

  test('leaves the mark of a new copy at its path', async () => {
    const due = await dueCopy();
    await cutOff(due);
    await home('alice-1/game-2');
    await restarted();
    await collection.resume();
    expect([existsSync(trashOf(due)), existsSync(markOf(due))]).toEqual([false, true]);
  });
});

describe('a launch while the home is collected', () => {
  test('keeps it: the files are back in their place before the session gets the home', async () => {
    const due = await dueHome('alice-1/game-2');
    let session: Promise<boolean> | null = null;
    control.beforeAnswer = () => {
      expect([existsSync(due.ref), existsSync(trashOf(due))]).toEqual([false, true]);
      control.set(due.id, 'kept');
      session = locks
        .take(due.ref, 20_000, new AbortController().signal)
        .then((release) => release !== null && existsSync(join(due.ref, 'save')));
      control.beforeAnswer = () => undefined;
    };
    expect(await collection.run()).toEqual({ deleted: 0, kept: 1, failed: 0 });
    expect(await session).toBe(true);
    expect([readFileSync(join(due.ref, 'save'), 'utf8'), notes()]).toEqual(['of a game', []]);
  });

  test('after the answer creates an empty home in the same place, which stays', async () => {
    const due = await dueHome('alice-1/game-2');
    const session = Promise.resolve().then(async () => {
      const release = await locks.take(due.ref, 20_000, new AbortController().signal);
      await openHome(root, due.ref, IS_ROOT ? USER : null);
      writeFileSync(join(due.ref, 'new'), '');
      return release;
    });
    control.beforeAnswer = () => undefined;
    // The home is locked first, so the collection finds that it is in use and does not change it.
    expect(await collection.run()).toMatchObject({ deleted: 0, failed: 1 });
    (await session)?.();
    expect(readdirSync(due.ref).sort()).toEqual(['new', 'save']);
    expect(control.asked).toEqual([]);
  });

  test.each(['', '/inside', '/..'])('a home whose ref%s is in use is not collected', async (suffix) => {
    const due = await dueHome('alice-1/game-2');
    const release = locks.tryTake(suffix === '/..' ? dirname(due.ref) : `${due.ref}${suffix}`);
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect([control.asked, collection.problems, existsSync(due.ref)]).toEqual([[], [], true]);
    release?.();
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
  });

  test('a home that a session uses by another path is not collected', async () => {
    const due = await dueHome('alice-1/game-2');
    symlinkSync(root, join(directory, 'also'));
    locks.tryTake(join(directory, 'also/alice-1/game-2'));
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect(existsSync(due.ref)).toBe(true);
  });
});

test('an answer that lists a home as deleted and as kept keeps it', async () => {
  const due = await dueHome('alice-1/game-2');
  control.confirm = async () => ({ deleted: 1, deleted_ids: [due.id], kept_ids: [due.id] });
  expect(await collection.run()).toEqual({ deleted: 0, kept: 1, failed: 0 });
  expect(existsSync(join(due.ref, 'save'))).toBe(true);
  control.set(due.id, 'kept');
});

describe('a path from the network', () => {
  const refused = async (ref: string, why: RegExp) => {
    const due: DueHome = { id: randomUUID(), provider: 'local', ref };
    control.add(due);
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect(collection.problems).toMatchObject([{ id: due.id, why: expect.stringMatching(why) }]);
    expect(control.asked).toEqual([]);
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('precious');
    expect(existsSync(join(outside, `.trash-${due.id}`))).toBe(false);
  };
  beforeEach(async () => {
    await home('bob-4/game-2');
  });

  test.each(['../outside', 'bob-4/../../outside', '', '../homes2/a', 'bob-4/./game-2'])(
    '%j is not below the home root',
    (path) => refused(`${root}/${path}`, /not below the home root/),
  );

  test('whose directory is a link', async () => {
    symlinkSync(outside, join(root, 'bob-4/link'));
    await refused(join(root, 'bob-4/link'), /is a link/);
    expect(existsSync(join(root, 'bob-4/link'))).toBe(true);
  });

  test('with a link on the way', async () => {
    mkdirSync(join(outside, 'game'));
    symlinkSync(outside, join(root, 'carol'));
    await refused(join(root, 'carol/game'), /link|no directory/);
    expect(existsSync(join(outside, 'game'))).toBe(true);
  });

  test('to a file', async () => {
    writeFileSync(join(root, 'bob-4/file'), '');
    await refused(join(root, 'bob-4/file'), /no directory/);
  });

  test.runIf(IS_ROOT)('to a directory above homes', async () => {
    await refused(join(root, 'bob-4'), /above homes/);
    expect(existsSync(join(root, 'bob-4/game-2/save'))).toBe(true);
  });

  test.runIf(IS_ROOT)('below a root that the control plane chose, to what is no home', async () => {
    // Not below /tmp, because homes in /tmp are refused too.
    const data = mkdtempSync('/srv/footlight-collection-');
    undo.push(() => rmSync(data, { recursive: true }));
    mkdirSync(join(data, 'disk'));
    writeFileSync(join(data, 'disk/file'), '');
    collection = started({ root: () => ({ path: data, isOwn: false }) });
    await refused(join(data, 'disk'), /no home of a session/);
    expect(existsSync(join(data, 'disk/file'))).toBe(true);
  });

  test.runIf(IS_ROOT)(
    'below a root that the control plane chose, to the directories of the host',
    async () => {
      collection = started({ root: () => ({ path: '/', isOwn: false }) });
      await refused('/etc/footlight-of-a-test', /which is the host's own/);
    },
  );
});

describe('a hostile home', () => {
  test('with links to /, pipes, odd names, closed and very deep directories is removed, and nothing outside', async () => {
    const due = await dueHome('alice-1/game-2');
    symlinkSync('/', join(due.ref, 'root'));
    symlinkSync(outside, join(due.ref, 'outside'));
    symlinkSync('/proc/self/fd', join(due.ref, 'fd'));
    execFileSync('perl', [
      '-e',
      String.raw`use POSIX; chdir $ARGV[0]; POSIX::mkfifo('pipe', 0600); mkdir "new\nline \xff"; mkdir 'closed'; mkdir 'closed/in';
        link "$ARGV[1]/precious", 'hard'; mkdir '.deep-1';
        for (1 .. 3000) { mkdir 'deep'; chdir 'deep'; open my $f, '>', 'file' } chdir $ARGV[0]; chmod 0, 'closed'`,
      due.ref,
      outside,
    ]);
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    expect([existsSync(due.ref), existsSync(trashOf(due)), notes()]).toEqual([false, false, []]);
    expect(readdirSync(outside)).toEqual(['precious']);
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('precious');
  });

  test('of a hundred thousand files does not block this process', async () => {
    const due = await dueHome('alice-1/game-2');
    execFileSync('perl', ['-e', 'chdir $ARGV[0]; for (1 .. 100_000) { open my $f, ">", $_ }', due.ref]);
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    delays.disable();
    expect(existsSync(trashOf(due))).toBe(false);
    // A removal inside this process would block it for seconds. Shorter delays are caused by other work of the machine.
    expect(delays.max / 1e6).toBeLessThan(1_000);
  });

  describe.runIf(IS_ROOT)('with mounts', () => {
    const mount = (args: string[], place: string) => {
      execFileSync('mount', [...args, place]);
      undo.push(() => sh('umount -l "$1" 2>/dev/null || true', place));
    };

    test.each([
      ['a file system', ['-t', 'tmpfs', 'footlight-test']],
      ['a directory of the same file system', null],
    ])('of %s inside: it stays, and says why; unmounted, it goes', async (_what, args) => {
      const due = await dueHome('alice-1/game-2');
      const place = join(due.ref, 'in/side');
      mkdirSync(place, { recursive: true });
      mount(args ?? ['--bind', outside], place);
      writeFileSync(join(place, 'kept'), '');
      expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
      expect(collection.problems).toMatchObject([
        { why: expect.stringMatching(/mounted at .*in\/side; unmount/) },
      ]);
      expect([control.asked, existsSync(join(place, 'kept')), existsSync(join(due.ref, 'save'))]).toEqual([
        [],
        true,
        true,
      ]);
      execFileSync('umount', [place]);
      expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
      expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('precious');
    });

    test('mounted after it was moved: nothing is removed, and the run after its end removes the home', async () => {
      const due = await dueHome('alice-1/game-2');
      const place = join(trashOf(due), 'later');
      control.beforeAnswer = () => {
        mkdirSync(place);
        mount(['--bind', outside], place);
        control.beforeAnswer = () => undefined;
      };
      expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
      expect(collection.problems).toMatchObject([
        { why: expect.stringMatching(/mounted at .*later; unmount/) },
      ]);
      expect([readdirSync(outside), existsSync(join(trashOf(due), 'save'))]).toEqual([['precious'], true]);
      execFileSync('umount', [place]);
      await collection.run();
      expect([existsSync(trashOf(due)), collection.problems, notes()]).toEqual([false, [], []]);
      expect(readdirSync(outside)).toEqual(['precious']);
    });
  });

  describe.runIf(IS_ROOT)('with immutable bits', () => {
    const immutable = (path: string) => {
      execFileSync('chattr', ['+i', path]);
      undo.push(() => sh('for path; do chattr -R -i "$path" 2>/dev/null || true; done', root));
    };

    test('on the home: it stays and the reason is reported; after the unmount it is removed', async () => {
      const due = await dueHome('alice-1/game-2');
      immutable(due.ref);
      expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
      expect(collection.problems).toMatchObject([{ id: due.id, why: expect.stringMatching(/immutable/) }]);
      expect([control.asked, existsSync(join(due.ref, 'save')), notes()]).toEqual([[], true, []]);
      execFileSync('chattr', ['-i', due.ref]);
      expect(await collection.run()).toEqual({ deleted: 1, kept: 0, failed: 0 });
    });

    test('on a file inside: the rest is removed, the file is reported, and the next run after its end removes it', async () => {
      const due = await dueHome('alice-1/game-2', { 'a/file': '', 'b/other': '' });
      immutable(join(due.ref, 'a/file'));
      expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
      expect(collection.problems).toMatchObject([
        { why: expect.stringMatching(/a\/file': Operation not permitted/) },
      ]);
      expect(readdirSync(trashOf(due))).toEqual(['a']);
      await restarted();
      await collection.resume();
      expect(collection.problems).toMatchObject([{ id: due.id }]);
      execFileSync('chattr', ['-i', join(trashOf(due), 'a/file')]);
      await collection.run();
      expect([existsSync(trashOf(due)), collection.problems, notes()]).toEqual([false, [], []]);
    });
  });
});

describe('leftovers of an earlier process', () => {
  test.each(['deleted', 'kept'] as const)(
    'is finished at the next start, by the answer then: %s',
    async (answer) => {
      const due = await dueHome('alice-1/game-2');
      await cutOff(due);
      if (answer === 'kept') control.set(due.id, 'kept');
      await restarted();
      // Locked from the start, because a launch must wait for the answer.
      expect(locks.isHeld(due.ref)).toBe(true);
      await collection.resume();
      expect(locks.isHeld(due.ref)).toBe(false);
      expect([existsSync(join(due.ref, 'save')), existsSync(trashOf(due))]).toEqual([
        answer === 'kept',
        false,
      ]);
      expect([notes(), collection.problems]).toEqual([[], []]);
    },
  );

  test('a note without a home set aside is dropped, and the home in its place is not touched', async () => {
    const due = await dueHome('alice-1/game-2');
    await cutOff(due);
    sh('mv "$1" "$2"', trashOf(due), due.ref);
    await restarted();
    expect([notes(), locks.isHeld(due.ref)]).toEqual([[], false]);
    await collection.resume();
    expect([existsSync(join(due.ref, 'save')), control.asked.length]).toEqual([true, 1]);
  });

  test('a note whose disk is not mounted waits for it', async () => {
    const due = await dueHome('alice-1/game-2');
    await cutOff(due);
    sh('mv "$1" "$1.away"; mkdir "$1"', root);
    await restarted();
    await collection.resume();
    expect(collection.problems).toMatchObject([{ id: due.id, why: expect.stringMatching(/disk mounted/) }]);
    sh('rmdir "$1"; mv "$1.away" "$1"', root);
    await collection.run();
    expect([existsSync(trashOf(due)), collection.problems, notes()]).toEqual([false, [], []]);
  });

  test('a kept home whose place is taken: both stay, it is reported, and it is put back when the place is free', async () => {
    const due = await dueHome('alice-1/game-2');
    await cutOff(due);
    control.set(due.id, 'kept');
    mkdirSync(due.ref);
    writeFileSync(join(due.ref, 'foreign'), '');
    await restarted();
    await collection.resume();
    expect(collection.problems).toMatchObject([
      { id: due.id, why: expect.stringMatching(/something else stands there/) },
    ]);
    const asked = control.asked.length;
    // The home is marked for deletion again. The agent must not query, because the answer would delete the record of
    // the new home in its place.
    control.set(due.id, 'due');
    await collection.run();
    expect([control.asked.length, readdirSync(due.ref), readdirSync(trashOf(due))]).toEqual([
      asked,
      ['foreign'],
      ['save'],
    ]);
    control.set(due.id, 'kept');
    rmSync(due.ref, { recursive: true });
    await restarted();
    await collection.resume();
    expect([readdirSync(due.ref), notes(), collection.problems]).toEqual([['save'], [], []]);
  });

  test.each(['deleted', 'kept'] as const)(
    'without its note, because the state directory was lost: %s',
    async (answer) => {
      const due = await dueHome('alice-1/game-2');
      await cutOff(due);
      rmSync(join(stateDir, 'gc'), { recursive: true });
      if (answer === 'kept') control.set(due.id, 'kept');
      await restarted();
      await collection.resume();
      expect(existsSync(trashOf(due))).toBe(answer === 'kept');
      expect(collection.problems).toHaveLength(answer === 'kept' ? 1 : 0);
    },
  );

  test('directories inside a home are not taken for leftovers, whatever their names', async () => {
    const kept = await home('alice-1');
    const planted = join(kept.ref, `.trash-${randomUUID()}`);
    mkdirSync(planted);
    await restarted();
    await collection.resume();
    expect([existsSync(planted), control.asked]).toEqual([true, []]);
  });

  test('an unreadable note does not prevent the start', async () => {
    mkdirSync(join(stateDir, 'gc'));
    writeFileSync(join(stateDir, 'gc', `${randomUUID()}.json`), '{"id":');
    await restarted();
    await collection.resume();
    expect(collection.problems).toEqual([]);
  });
});

describe('a home that is an engine volume', () => {
  const volume = (): DueHome => {
    const id = randomUUID();
    const due: DueHome = { id, provider: 'volume', ref: `service-home-${id}` };
    control.add(due);
    return due;
  };
  const engine = (removed: string[], end: 'removed' | 'absent' | 'in_use' = 'removed'): VolumeRemover => ({
    ready: async () => undefined,
    remove: async (ref) => {
      removed.push(ref);
      return end;
    },
  });

  test('is removed after the answer, and stays when it is kept', async () => {
    const removed: string[] = [];
    collection = started({}, engine(removed));
    const [gone, kept] = [volume(), volume()];
    control.beforeAnswer = (id) => {
      expect(removed).not.toContain(`service-home-${id}`);
      if (id === kept.id) control.set(id, 'kept');
    };
    expect(await collection.run()).toEqual({ deleted: 1, kept: 1, failed: 0 });
    expect([removed, notes()]).toEqual([[gone.ref], []]);
  });

  test('that a container uses is tried again, even by the next process', async () => {
    const due = volume();
    collection = started({}, engine([], 'in_use'));
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect(collection.problems).toEqual([{ id: due.id, why: `${due.ref}: a container uses it` }]);
    const removed: string[] = [];
    await restarted(engine(removed, 'absent'));
    await collection.resume();
    expect([removed, notes(), collection.problems]).toEqual([[due.ref], [], []]);
  });

  test.each(['service-home-other', '--all', 'database'])('named %s is not touched', async (ref) => {
    const removed: string[] = [];
    collection = started({}, engine(removed));
    control.add({ id: randomUUID(), provider: 'volume', ref });
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect([removed, control.asked]).toEqual([[], []]);
  });

  test('on a host without an engine keeps its record', async () => {
    const due = volume();
    expect(await collection.run()).toEqual({ deleted: 0, kept: 0, failed: 1 });
    expect(control.stateOf(due.id)).toBe('due');
  });
});
