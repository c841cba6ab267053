import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloneMarkOf } from '../linux/clone-mark.ts';
import { scanSteamLibrary } from './steam-library.ts';
import {
  CONTAINER_PATH,
  libraryFoldersText,
  makeLargeSteamHome,
  makeSteamHome,
  manifestText,
  STEAM,
  type SteamHome,
} from './testing/steam-home.ts';

const LIMIT_MS = 300_000;

describe('the scan of a Steam home', () => {
  let home: SteamHome;
  let outside: string;
  beforeEach(() => {
    home = makeSteamHome();
    outside = mkdtempSync(join(tmpdir(), 'footlight-outside-'));
    mkdirSync(join(outside, 'steamapps'));
    writeFileSync(join(outside, 'steamapps', 'appmanifest_666.acf'), manifestText(666, 'Secret'));
    writeFileSync(join(outside, 'secret.acf'), manifestText(7, 'Secret'));
  });
  afterEach(() => {
    home.remove();
    rmSync(outside, { recursive: true, force: true });
  });

  const scan = (more: object = {}) => scanSteamLibrary({ ...home.task, ...more }, () => 0, LIMIT_MS);
  const ids = (more: object = {}) =>
    scan(more)
      .entries.map(({ external_id }) => external_id)
      .sort();

  test('finds the titles of the home, with complete and incomplete manifests', () => {
    home.addTitle(440, 'Sample Quest');
    home.write(`${STEAM}/steamapps/appmanifest_441.acf`, manifestText(441).slice(0, 90));
    home.write(`${STEAM}/steamapps/workshop/appmanifest_9.acf`, manifestText(9));
    expect(scan()).toEqual({
      ok: true,
      complete: true,
      error: '',
      outside: 0,
      entries: expect.arrayContaining([
        {
          external_id: '440',
          name: 'Sample Quest',
          install_dir: 'Title 440',
          size_on_disk: 26_843_545_600,
          state_flags: 4,
        },
        { external_id: '441', name: '', install_dir: '', size_on_disk: 0, state_flags: 0 },
      ]),
    });
    expect(ids()).toEqual(['440', '441']);
  });

  test('reads listed libraries inside the home, and counts the others', () => {
    home.addTitle(1, undefined, 4, 'games');
    home.addTitle(2, undefined, 4, 'deep/er');
    const paths = [
      `${CONTAINER_PATH}/${STEAM}`,
      `${CONTAINER_PATH}/games`,
      `${CONTAINER_PATH}/deep/../deep/er/`,
    ];
    const list = libraryFoldersText([...paths, '/mnt/disk', outside, `${CONTAINER_PATH}/../..${outside}`]);
    home.write(`${STEAM}/steamapps/libraryfolders.vdf`, list);
    const { entries, outside: left, complete } = scan();
    expect(entries.map(({ external_id }) => external_id).sort()).toEqual(['1', '2']);
    expect([left, complete]).toEqual([3, true]);
  });

  test('finds two thousand titles in three libraries', () => {
    const large = makeLargeSteamHome(2000);
    const result = scanSteamLibrary(large.task, () => 0, LIMIT_MS);
    large.remove();
    expect(result).toMatchObject({ complete: true, outside: 0 });
    expect(new Set(result.entries.map(({ external_id }) => external_id)).size).toBe(2000);
    expect(result.entries.every(({ name, state_flags }) => name !== '' && state_flags === 4)).toBe(true);
  });

  test('reads a folder once, even if several roots lead to it', () => {
    home.addTitle(440);
    mkdirSync(join(home.root, '.steam'));
    symlinkSync(`${CONTAINER_PATH}/${STEAM}`, join(home.root, '.steam', 'steam'));
    home.write(
      `${STEAM}/steamapps/libraryfolders.vdf`,
      libraryFoldersText([`${CONTAINER_PATH}/.steam/steam`]),
    );
    expect(scan()).toMatchObject({ complete: true, entries: [{ external_id: '440' }] });
  });

  test('uses the installed entry of a title in two libraries', () => {
    home.addTitle(440, 'Leftover', 1026);
    home.addTitle(440, 'Installed', 4, 'games');
    home.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText([`${CONTAINER_PATH}/games`]));
    expect(scan().entries).toMatchObject([{ external_id: '440', name: 'Installed', state_flags: 4 }]);
  });

  test('of a home without Steam is empty and complete', () => {
    rmSync(join(home.root, '.local'), { recursive: true });
    expect(scan()).toEqual({ ok: true, complete: true, error: '', entries: [], outside: 0 });
  });

  test('of a home that is missing, or a link, fails', () => {
    expect(scan({ root_path: `${home.root}-none` })).toMatchObject({
      ok: false,
      complete: false,
      entries: [],
    });
    symlinkSync(home.root, `${home.root}-link`);
    expect(scan({ root_path: `${home.root}-link` })).toMatchObject({ ok: false });
    rmSync(`${home.root}-link`);
  });

  describe('follows links inside the home only', () => {
    test.each([
      ['absolute, as the app sees it', `${CONTAINER_PATH}/games/steamapps`],
      ['relative', '../../../games/steamapps'],
      ['over another link', `${CONTAINER_PATH}/again/steamapps`],
    ])('%s', (_what, target) => {
      home.addTitle(5, undefined, 4, 'games');
      symlinkSync('games', join(home.root, 'again'));
      rmSync(home.steamapps, { recursive: true });
      symlinkSync(target, home.steamapps);
      expect(ids()).toEqual(['5']);
    });

    test('a link to a manifest', () => {
      home.write('manifest', manifestText(440));
      symlinkSync('../../../../manifest', join(home.steamapps, 'appmanifest_440.acf'));
      expect(scan().entries).toMatchObject([{ external_id: '440', name: 'Title 440' }]);
    });

    const hostile: [string, (path: string) => string][] = [
      ['absolute', (path) => path],
      ['with dots', (path) => `../../../../../../../../../..${path}`],
      ['through /proc', () => '/proc/self/root/etc'],
      ['to the root', () => '/'],
    ];
    test.each(hostile)('never a root that leads out, %s', (_what, target) => {
      rmSync(home.steamapps, { recursive: true });
      symlinkSync(target(join(outside, 'steamapps')), home.steamapps);
      expect(scan()).toMatchObject({ ok: true, complete: false, entries: [] });
    });

    test.each(hostile)('never a manifest that leads out, %s', (_what, target) => {
      symlinkSync(target(join(outside, 'secret.acf')), join(home.steamapps, 'appmanifest_7.acf'));
      expect(JSON.stringify(scan())).not.toContain('Secret');
    });

    test.each(hostile)('never a library of the list that leads out, %s', (_what, target) => {
      symlinkSync(target(outside), join(home.root, 'games'));
      home.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText([`${CONTAINER_PATH}/games`]));
      expect(scan()).toMatchObject({ complete: false, entries: [] });
    });

    test('a cycle of links', () => {
      symlinkSync('b', join(home.root, 'a'));
      symlinkSync('a', join(home.root, 'b'));
      home.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText([`${CONTAINER_PATH}/a`]));
      expect(scan()).toMatchObject({ complete: false, error: expect.stringMatching(/too many links/) });
    });

    test('a swap of a directory for a link while it is read', () => {
      home.addTitle(440);
      const aside = `${home.steamapps}-aside`;
      for (let round = 0; round < 500; round += 1) {
        let looks = 0;
        // The scan reads the clock between two names, so this function can change files at that time, like an app.
        const clock = () => {
          looks += 1;
          if (looks === (round % 4) + 1) {
            renameSync(home.steamapps, aside);
            symlinkSync(join(outside, 'steamapps'), home.steamapps);
          }
          return 0;
        };
        const { entries } = scanSteamLibrary(home.task, clock, LIMIT_MS);
        expect(JSON.stringify(entries)).not.toContain('Secret');
        if (looks >= (round % 4) + 1) {
          rmSync(home.steamapps);
          renameSync(aside, home.steamapps);
        }
      }
    });
  });

  describe('with a base below it', () => {
    let base: SteamHome;
    beforeEach(() => {
      base = makeSteamHome();
    });
    afterEach(() => base.remove());

    const overBase = () => scan({ base_path: base.root });
    const names = () =>
      overBase()
        .entries.map(({ name }) => name)
        .sort();
    const listed = (tree: SteamHome, ...paths: string[]) =>
      tree.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText(paths));
    const whiteout = (path: string) => execFileSync('mknod', [path, 'c', '0', '0']);

    test('finds the titles of both', () => {
      home.addTitle(1, 'Own');
      base.addTitle(2, 'Shared');
      expect(names()).toEqual(['Own', 'Shared']);
    });

    test('finds the titles of the base if the home has no folder yet', () => {
      base.addTitle(2, 'Shared');
      rmSync(join(home.root, '.local'), { recursive: true });
      expect(names()).toEqual(['Shared']);
    });

    test('uses the entry of the home for a title in both, even if only the other is installed', () => {
      home.addTitle(1, 'Own', 1026);
      base.addTitle(1, 'Shared', 4);
      expect(overBase().entries).toMatchObject([{ external_id: '1', name: 'Own', state_flags: 1026 }]);
    });

    test.runIf(process.getuid?.() === 0)('hides a title of the base that the person deleted', () => {
      base.addTitle(1, 'Deleted');
      base.addTitle(2, 'Shared');
      whiteout(join(home.steamapps, 'appmanifest_1.acf'));
      expect(names()).toEqual(['Shared']);
    });

    test.runIf(process.getuid?.() === 0)('hides a folder of the base that the person deleted', () => {
      base.addTitle(1, 'Deleted');
      rmSync(home.steamapps, { recursive: true });
      whiteout(home.steamapps);
      expect(overBase()).toMatchObject({ complete: true, entries: [] });
    });

    test('a file of the home hides a folder of the base', () => {
      base.addTitle(1, 'Hidden', 4, 'games');
      home.write('games', '');
      listed(home, `${CONTAINER_PATH}/games`);
      expect(overBase()).toMatchObject({ complete: true, entries: [] });
    });

    test('a list of libraries of the home replaces the list of the base, and may name folders of the base', () => {
      base.addTitle(1, 'Shared', 4, 'games');
      base.addTitle(2, 'Not listed', 4, 'other');
      listed(base, `${CONTAINER_PATH}/games`, `${CONTAINER_PATH}/other`);
      expect(names()).toEqual(['Not listed', 'Shared']);
      listed(home, `${CONTAINER_PATH}/games`);
      expect(names()).toEqual(['Shared']);
    });

    test('follows a link of the base to a folder of both', () => {
      base.addTitle(1, 'Shared', 4, 'games');
      home.addTitle(2, 'Own', 4, 'games');
      symlinkSync('games', join(base.root, 'link'));
      listed(base, `${CONTAINER_PATH}/link`);
      expect(names()).toEqual(['Own', 'Shared']);
    });

    test('never follows a link of the base that leads out', () => {
      symlinkSync(join(outside, 'secret.acf'), join(base.steamapps, 'appmanifest_7.acf'));
      symlinkSync('../../../../../../../../..', join(base.root, 'link'));
      listed(base, `${CONTAINER_PATH}/link${outside}`);
      const result = overBase();
      expect(result.complete).toBe(false);
      expect(JSON.stringify(result)).not.toContain('Secret');
    });

    test('does not read the base if the home is a copy of it: what is missing there was deleted', () => {
      home.addTitle(1, 'Own');
      base.addTitle(2, 'Deleted');
      writeFileSync(cloneMarkOf(home.root), '');
      expect(names()).toEqual(['Own']);
      rmSync(cloneMarkOf(home.root));
    });

    test('is incomplete without the base, so that the titles of the base do not count as removed', () => {
      home.addTitle(1, 'Own');
      base.remove();
      expect(overBase()).toMatchObject({
        ...{ ok: true, complete: false, entries: [{ name: 'Own' }] },
        error: 'the base cannot be opened: ENOENT',
      });
    });

    test('has one limit of titles for both', () => {
      home.addTitle(1);
      base.addTitle(2);
      const result = scan({ base_path: base.root, max_entries: 1 });
      expect(result).toMatchObject({ complete: false, error: 'more than 1 titles' });
      expect(result.entries).toHaveLength(1);
    });
  });

  test('skips pipes, devices, sockets and directories with the name of a manifest', () => {
    execFileSync('mkfifo', [join(home.steamapps, 'appmanifest_1.acf')]);
    mkdirSync(join(home.steamapps, 'appmanifest_2.acf'));
    if (process.getuid?.() === 0)
      execFileSync('mknod', [join(home.steamapps, 'appmanifest_3.acf'), 'c', '1', '5']);
    execFileSync('mkfifo', [join(home.steamapps, 'libraryfolders.vdf')]);
    home.addTitle(440);
    expect(scan()).toMatchObject({ complete: false, entries: [{ external_id: '440' }] });
  });

  test('knows only the presence of a title whose manifest is too long', () => {
    home.write(`${STEAM}/steamapps/appmanifest_440.acf`, manifestText(440) + ' '.repeat(2000));
    expect(scan({ max_manifest_bytes: 1000 }).entries).toMatchObject([{ external_id: '440', name: '' }]);
  });

  describe('is reported as incomplete', () => {
    test('of a list of libraries that cannot be read', () => {
      home.addTitle(440);
      home.write(`${STEAM}/steamapps/libraryfolders.vdf`, '"libraryfolders"\n{\n"0"\n{\n');
      expect(scan()).toMatchObject({
        complete: false,
        error: expect.stringMatching(/libraryfolders\.vdf/),
        entries: [{ external_id: '440' }],
      });
    });

    test('of a list that is too long', () => {
      home.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText(['/x']).padEnd(2000, '\n'));
      expect(scan({ max_manifest_bytes: 1000 })).toMatchObject({ complete: false });
    });

    test('of a list with too many libraries', () => {
      const paths = Array.from({ length: 100 }, (_, n) => `${CONTAINER_PATH}/library-${n}`);
      home.addTitle(1, undefined, 4, 'library-1');
      home.addTitle(99, undefined, 4, 'library-99');
      home.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText(paths));
      expect(scan()).toMatchObject({ complete: false, entries: [{ external_id: '1' }] });
    });

    test('of more titles than requested', () => {
      for (let id = 1; id <= 5; id += 1) home.addTitle(id);
      const result = scan({ max_entries: 3 });
      expect(result).toMatchObject({ ok: true, complete: false, error: 'more than 3 titles' });
      expect(result.entries).toHaveLength(3);
      expect(scan({ max_entries: 5 })).toMatchObject({ complete: true });
    });

    test('after the time limit', () => {
      for (let id = 1; id <= 5; id += 1) home.addTitle(id);
      let nowMs = 0;
      const clock = () => {
        nowMs += 100;
        return nowMs;
      };
      const result = scanSteamLibrary(home.task, clock, 300);
      expect(result).toMatchObject({ ok: true, complete: false, error: 'the time limit' });
      expect(result.entries.length).toBeGreaterThan(0);
      expect(result.entries.length).toBeLessThan(5);
    });

    test('of a root that is a file', () => {
      rmSync(home.steamapps, { recursive: true });
      writeFileSync(home.steamapps, '');
      expect(scan()).toMatchObject({ complete: false, error: expect.stringMatching(/no directory/) });
    });
  });

  test('leaves no descriptor open', () => {
    for (let id = 1; id <= 20; id += 1) home.addTitle(id);
    symlinkSync('nowhere', join(home.steamapps, 'appmanifest_99.acf'));
    symlinkSync(outside, join(home.steamapps, 'appmanifest_98.acf'));
    home.write(`${STEAM}/steamapps/libraryfolders.vdf`, libraryFoldersText([`${CONTAINER_PATH}/none`]));
    const base = makeSteamHome();
    for (let id = 10; id <= 30; id += 1) base.addTitle(id);
    symlinkSync('.local', join(base.root, 'link'));
    base.write(
      `${STEAM}/steamapps/libraryfolders.vdf`,
      libraryFoldersText([`${CONTAINER_PATH}/link/share/Steam`]),
    );
    scan();
    scan({ base_path: base.root });
    // Only descriptors below these folders are counted, because other test files of this process open and close
    // descriptors at the same time.
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        return [];
      }
    });
    const folders = [home.root, base.root, outside];
    expect(open.filter((file) => folders.some((folder) => file.startsWith(folder)))).toEqual([]);
    base.remove();
  });
});
