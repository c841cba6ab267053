import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionUser } from '../../runtime/runtime.ts';
import { closeHome, HomeError, lastOwner, openHome } from './home.ts';
import { isBelow } from './home-path.ts';

/** Endlessly replaces a directory by a link to argv[1], and the link by the directory. */
const SWAP_FOR_LINK = `
import os, sys
print("ready", flush=True)
while True:
    os.rename("directory", "away")
    os.symlink(sys.argv[1], "directory")
    for _ in range(200): pass
    os.unlink("directory")
    os.rename("away", "directory")
`;

describe('homes', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'footlight-homes-'));
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('parent directories are created and closed to others', async () => {
    const ref = join(root, 'homes/alice-1/game-2');
    await openHome(join(root, 'homes'), ref, null);
    expect(lstatSync(ref).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(root, 'homes/alice-1')).mode & 0o777).toBe(0o711);
    await openHome(join(root, 'homes'), ref, null);
  });

  test.runIf(process.getuid?.() === 0)(
    'one that its app opens to everybody can be reached only by that app',
    async () => {
      const ref = join(root, 'homes/alice-1/game-2');
      const user = { uid: 71_320, gid: 71_320, groups: [] };
      chmodSync(root, 0o711);
      // The state that an earlier version of the agent left: the parent directories are open.
      mkdirSync(join(root, 'homes/alice-1'), { recursive: true });
      for (const way of ['homes', 'homes/alice-1']) chmodSync(join(root, way), 0o711);
      const groups = await openHome(join(root, 'homes'), ref, user);
      // The state that an agent leaves if it ends between creating the directory and closing it.
      chmodSync(join(root, 'homes/alice-1'), 0o711);
      expect(await openHome(join(root, 'homes'), ref, user)).toEqual(groups);
      chmodSync(ref, 0o777);
      const lists = (uid: number, more: number[]) =>
        spawnSync('setpriv', [
          ...['--reuid', String(uid), '--regid', String(uid)],
          ...(more.length > 0 ? ['--groups', more.join(',')] : ['--clear-groups']),
          ...['ls', ref],
        ]).status === 0;
      expect([lists(71_320, groups), lists(71_321, [])]).toEqual([true, false]);
    },
  );

  test('a parent directory that the agent did not create is not changed', async () => {
    mkdirSync(join(root, 'homes/people'), { recursive: true });
    chmodSync(join(root, 'homes/people'), 0o755);
    await openHome(join(root, 'homes'), join(root, 'homes/people/game'), null);
    expect(lstatSync(join(root, 'homes/people')).mode & 0o777).toBe(0o755);
  });

  test.each(['link to a directory elsewhere', 'link as the home itself', 'file in the path'])(
    '%s',
    async (trick) => {
      mkdirSync(join(root, 'elsewhere'));
      mkdirSync(join(root, 'homes'));
      if (trick === 'link to a directory elsewhere')
        symlinkSync(join(root, 'elsewhere'), join(root, 'homes/alice'));
      if (trick === 'link as the home itself') {
        mkdirSync(join(root, 'homes/alice'));
        symlinkSync(join(root, 'elsewhere'), join(root, 'homes/alice/game'));
      }
      if (trick === 'file in the path') symlinkSync('/etc/passwd', join(root, 'homes/alice'));
      await expect(openHome(join(root, 'homes'), join(root, 'homes/alice/game'), null)).rejects.toThrow(
        HomeError,
      );
    },
  );

  // Refused, because the owner of the outer directory could replace the inner one by a link while the agent changes its
  // owner.
  test.runIf(process.getuid?.() === 0)('one inside the home of a session is refused', async () => {
    const [homes, user] = [join(root, 'homes'), { uid: 71_320, gid: 71_320, groups: [] }];
    await openHome(homes, join(homes, 'alice'), user);
    await expect(openHome(homes, join(homes, 'alice/game'), user)).rejects.toThrow(HomeError);
    expect(readdirSync(join(homes, 'alice'))).toEqual([]);
  });

  describe.runIf(process.getuid?.() === 0)('below a root that the control plane chose', () => {
    const user = { uid: 71_320, gid: 71_320, groups: [] };
    const stateDir = () => join(root, 'state');
    const open = (homes: string, ref: string) =>
      openHome(homes, ref, user, { isSessionsGroup: (gid) => gid === 71_319, stateDir: stateDir() });
    // Not below /tmp, because homes in /tmp are refused too.
    beforeEach(() => {
      rmSync(root, { recursive: true });
      root = mkdtempSync('/srv/footlight-homes-');
      mkdirSync(stateDir());
    });

    test.each(['/etc', '/usr/local/bin', '/tmp/.X11-unix', '/etc/systemd/system.control'])(
      'nothing in %s becomes a home',
      async (place) => {
        const ref = join(place, `footlight-of-a-test-${process.pid}`);
        for (const homes of ['/', place]) await expect(open(homes, ref)).rejects.toThrow(HomeError);
        expect(lstatSync(ref, { throwIfNoEntry: false })).toBeUndefined();
      },
    );

    test('an existing directory is given to a session only if it is a home of sessions', async () => {
      const [program, home] = [join(root, 'program'), join(root, 'home')];
      for (const path of [program, home]) {
        mkdirSync(path);
        writeFileSync(join(path, 'file'), '');
      }
      chownSync(home, 0, 71_319);
      symlinkSync('/etc', join(root, 'link'));
      await expect(open(root, program)).rejects.toThrow('no home of a session');
      await expect(open(root, join(stateDir(), 'sessions'))).rejects.toThrow(HomeError);
      await expect(open(join(root, 'link'), join(root, 'link/of-a-test'))).rejects.toThrow('/etc');
      await open(root, home);
      await open(root, join(root, 'alice/game'));
      expect([program, home].map((path) => lstatSync(path).uid)).toEqual([0, user.uid]);
    });
  });

  test.runIf(process.getuid?.() === 0)(
    'the next user gets its files, but no files of others that are linked in it',
    async () => {
      const home = join(root, 'homes/alice');
      const user = (uid: number): SessionUser => ({ uid, gid: uid, groups: [] });
      const [former, next] = [user(71_320), user(71_321)];
      await openHome(join(root, 'homes'), home, former);
      const [own, twice, theirs] = [join(home, 'own'), join(home, 'twice'), join(home, 'theirs')];
      for (const path of [own, twice]) writeFileSync(path, '');
      for (const path of [own, twice]) chownSync(path, former.uid, former.gid);
      linkSync(twice, join(home, 'again'));
      // An app can create this hard link if fs.protected_hardlinks is 0.
      writeFileSync(join(root, 'shadow'), '');
      linkSync(join(root, 'shadow'), theirs);
      await closeHome(home, former);
      await openHome(join(root, 'homes'), home, next);
      expect([own, twice, theirs].map((path) => lstatSync(path).uid)).toEqual([next.uid, next.uid, 0]);
    },
  );

  test.runIf(process.getuid?.() === 0)(
    'a session inside an open home of another cannot redirect the change of its owner out of the home',
    { timeout: 180_000 },
    async () => {
      const home = join(root, 'homes/alice');
      const user = (uid: number): SessionUser => ({ uid, gid: uid, groups: [] });
      const [former, others] = [user(71_320), user(71_322)];
      const names = Array.from({ length: 2_000 }, (_, index) => `file-${index}`);
      const makeFiles = (dir: string, { uid, gid }: { uid: number; gid: number }) => {
        mkdirSync(dir);
        for (const name of names) writeFileSync(join(dir, name), '');
        for (const path of [dir, ...names.map((name) => join(dir, name))]) chownSync(path, uid, gid);
      };
      await openHome(join(root, 'homes'), home, former);
      const open = join(home, 'open');
      mkdirSync(open);
      chmodSync(open, 0o777);
      makeFiles(join(open, 'directory'), former);
      const hosts = join(root, 'hosts');
      makeFiles(hosts, { uid: 0, gid: 0 });
      const swapping = spawn('python3', ['-c', SWAP_FOR_LINK, hosts], {
        cwd: open,
        uid: others.uid,
        gid: others.gid,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(swapping.stdout, 'data');
      let at = former;
      for (let round = 0; round < 20; round++) {
        await closeHome(home, at);
        at = user(71_440 + round);
        // openHome() may find a link instead of a directory; then it must refuse the home.
        await openHome(join(root, 'homes'), home, at).catch((error) =>
          expect(error).toBeInstanceOf(HomeError),
        );
      }
      swapping.kill('SIGKILL');
      await once(swapping, 'exit');
      const owners = new Set(['', ...names].map((name) => lstatSync(join(hosts, name)).uid));
      expect([...owners]).toEqual([0]);
    },
  );

  test.each(['elsewhere/game', 'homes/../elsewhere/game', 'homes', 'homes2/game'])(
    '%s is not below the root: refused, and nothing is created',
    async (path) => {
      mkdirSync(join(root, 'homes'));
      await expect(openHome(join(root, 'homes'), `${root}/${path}`, null)).rejects.toThrow(HomeError);
      expect(readdirSync(root)).toEqual(['homes']);
      expect(readdirSync(join(root, 'homes'))).toEqual([]);
    },
  );

  test('a home root that is reached through a link is accepted', async () => {
    mkdirSync(join(root, 'disk'));
    symlinkSync(join(root, 'disk'), join(root, 'homes'));
    await openHome(join(root, 'homes'), join(root, 'homes/alice/game'), null);
    expect(lstatSync(join(root, 'disk/alice/game')).isDirectory()).toBe(true);
  });

  test('a missing home has no last owner', async () => {
    expect(await lastOwner(join(root, 'nothing'))).toBeNull();
    chmodSync(root, 0o700);
  });

  test('the owner of a home that cannot be read is not guessed, and the error says why', async () => {
    symlinkSync('loop', join(root, 'loop'));
    const error = await lastOwner(join(root, 'loop/game')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HomeError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/loop\/game cannot be read: ELOOP/),
      cause: expect.objectContaining({ code: 'ELOOP' }),
    });
  });

  test.runIf(process.getuid?.() === 0)(
    'a home whose owner cannot be changed is refused, and the error says what chown reported',
    async () => {
      const user = { uid: 71_320, gid: 71_320, groups: [] };
      const ref = join(root, 'homes/game');
      const path = process.env.PATH;
      // A chown that fails like the real one on a read-only file system.
      mkdirSync(join(root, 'bin'));
      writeFileSync(join(root, 'bin/chown'), '#!/bin/sh\necho "chown: Read-only file system" >&2\nexit 1\n');
      chmodSync(join(root, 'bin/chown'), 0o755);
      process.env.PATH = `${join(root, 'bin')}:${path}`;
      const error = await openHome(join(root, 'homes'), ref, user).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      process.env.PATH = path;
      expect(error).toBeInstanceOf(HomeError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/to the session's user: chown: Read-only file system$/),
        cause: expect.objectContaining({ message: 'chown: Read-only file system' }),
      });
    },
  );

  test('no path text leads out of the root', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('..', '.', 'a', '/', 'homes', ''), { maxLength: 8 }), (parts) => {
        const path = `/srv/homes/${parts.join('/')}`;
        if (!isBelow('/srv/homes', path)) return;
        expect(path.startsWith('/srv/homes/')).toBe(true);
        expect(path.split('/')).not.toContain('..');
      }),
    );
    expect(isBelow('/srv/homes', '/srv/homes')).toBe(false);
    expect(isBelow('/srv/homes', '/srv/homes2/a')).toBe(false);
    expect(isBelow('/', '/a')).toBe(true);
  });
});
