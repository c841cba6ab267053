import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MountRefused, type MountRules, parseMount, type WayPart, whyChangeable } from './mount-policy.ts';
import { resolveMounts } from './mounts.ts';

describe('the host directories that an app may mount', () => {
  let top: string;
  let rules: MountRules;

  beforeAll(() => {
    top = realpathSync(mkdtempSync(join(tmpdir(), 'footlight-mounts-')));
    for (const name of ['games/doom', 'saves/doom', 'agent/homes', 'games-of-others', 'games/state'])
      mkdirSync(join(top, name), { recursive: true });
    symlinkSync('/etc', join(top, 'games/etc'));
    symlinkSync(join(top, 'games/doom'), join(top, 'games/link'));
    symlinkSync(join(top, 'agent'), join(top, 'games/agent'));
    mkdirSync(join(top, 'games/a,b'));
    symlinkSync(join(top, 'games/a,b'), join(top, 'games/comma'));
    symlinkSync(join(top, 'games'), join(top, 'root-link'));
    rules = {
      roots: [
        { path: join(top, 'games'), writable: false },
        { path: join(top, 'games/state'), writable: true },
        { path: join(top, 'saves'), writable: true },
        { path: join(top, 'root-link'), writable: false },
      ],
      stateDir: join(top, 'agent'),
      homeRoot: join(top, 'agent/homes'),
      users: { range: [70_000, 70_255], own: process.getuid?.() ?? 0 },
    };
  });
  afterAll(() => rmSync(top, { recursive: true, force: true }));

  const resolve = (entry: string) => resolveMounts([entry.replaceAll('TOP', top)], rules);

  test.each([
    ['a directory below a root, read-only', 'TOP/games/doom:/data', 'games/doom', false],
    ['read-only whatever its options say', 'TOP/games/doom:/data:rw', 'games/doom', false],
    ['the root itself', 'TOP/saves:/saves', 'saves', true],
    ['below a root with :rw', 'TOP/saves/doom:/saves', 'saves/doom', true],
    ['the nearest root decides', 'TOP/games/state:/state', 'games/state', true],
    ['a link that stays below a root, as its target', 'TOP/games/link:/data', 'games/doom', false],
    ['a root that is a link', 'TOP/root-link/doom:/data', 'games/doom', false],
  ])('%s', async (_name, entry, source, writable) => {
    expect(await resolve(entry)).toEqual([
      { source: join(top, source), target: entry.split(':')[1], writable },
    ]);
  });

  test.each([
    ['no root allows it', '/usr/share:/data'],
    ['a name that only begins like a root', 'TOP/games-of-others:/data'],
    ['a link that leads out', 'TOP/games/etc:/data'],
    ['a link to the agent’s state', 'TOP/games/agent:/data'],
    ['the agent’s state', 'TOP/agent:/data'],
    ['a home', 'TOP/agent/homes:/data'],
    ['a parent of the agent’s state', 'TOP:/data'],
    ['it does not exist', 'TOP/games/none:/data'],
    ['dot-dot in the source', 'TOP/games/../agent:/data'],
    ['dot-dot in the target', 'TOP/games/doom:/data/../etc'],
    ['over everything', 'TOP/games/doom:/'],
    ['over everything, spelled differently', 'TOP/games/doom://.'],
    ['an option of podman’s mounts', 'TOP/games/doom:/data,source=/etc'],
    ['a link to a name with a comma', 'TOP/games/comma:/data'],
    ['a relative source', 'games/doom:/data'],
    ['a relative target', 'TOP/games/doom:data'],
    ['a NUL', 'TOP/games/doom:/da\0ta'],
    ['too many fields', 'TOP/games/doom:/data:ro:rw'],
    ['no target', 'TOP/games/doom'],
  ])('refused: %s', async (_name, entry) => {
    await expect(resolve(entry)).rejects.toThrow(MountRefused);
  });

  test('a root that contains the state directory allows neither it nor its parents', async () => {
    const wide = { ...rules, roots: [{ path: top, writable: true }] };
    await expect(resolveMounts([`${top}/agent/homes:/x`], wide)).rejects.toThrow(MountRefused);
    await expect(resolveMounts([`${top}:/x`], wide)).rejects.toThrow(MountRefused);
    expect(await resolveMounts([`${top}/games:/x`], wide)).toHaveLength(1);
  });

  test.each([
    ['everybody', 0o777],
    ['a group', 0o770],
  ])(
    'refused: a name in a directory that %s can change, but not the directory itself',
    async (_who, mode) => {
      mkdirSync(join(top, 'saves/open/inside/deeper'), { recursive: true });
      chmodSync(join(top, 'saves/open'), mode);
      for (const source of ['saves/open/inside', 'saves/open/inside/deeper'])
        await expect(resolve(`TOP/${source}:/x`)).rejects.toThrow(
          `${top}/saves/open can be written to by its group or by everybody`,
        );
      expect(await resolve('TOP/saves/open:/x')).toMatchObject([{ writable: true }]);
    },
  );

  test.runIf(process.getuid?.() === 0)(
    'refused: a name in a directory of the user of a session',
    async () => {
      mkdirSync(join(top, 'games/owned/inside'), { recursive: true });
      chownSync(join(top, 'games/owned'), 70_001, 0);
      await expect(resolve('TOP/games/owned/inside:/x')).rejects.toThrow('belongs to the user of a session');
      chownSync(join(top, 'games/owned'), 1000, 1000);
      expect(await resolve('TOP/games/owned/inside:/x')).toHaveLength(1);
    },
  );

  describe('who can change a name', () => {
    const part = { path: '/srv/saves/a', uid: 0, mode: 0o755, nextUid: 0 };
    const root = { range: [70_000, 70_255], own: 0 } as const;
    const shared = { range: null, own: 1000 } as const;
    const rules = (users: MountRules['users']) => ({
      roots: [{ path: '/srv/saves', writable: true }],
      users,
    });

    test.each<[string, Partial<WayPart>, MountRules['users'], boolean]>([
      ['root alone', {}, root, false],
      ['another user of the machine, who would gain nothing', { uid: 1000 }, root, false],
      ['the first user of a session', { uid: 70_000 }, root, true],
      ['the last user of a session', { uid: 70_255 }, root, true],
      ['a group, or one user by an access list', { mode: 0o775 }, root, true],
      ['everybody', { mode: 0o757 }, root, true],
      ['nobody, in a sticky directory', { mode: 0o1777 }, root, false],
      ['a session, whose entry of a sticky directory it is', { mode: 0o1777, nextUid: 70_001 }, root, true],
      ['another user, whose entry of a sticky directory it is', { mode: 0o1777, nextUid: 1000 }, root, true],
      ['apps that share the user, where they may write', { uid: 1000 }, shared, true],
      ['no app that shares the user, elsewhere', { uid: 1000, path: '/srv/games' }, shared, false],
    ])('%s', (_who, change, users, isChangeable) => {
      expect(whyChangeable({ ...part, ...change }, rules(users)) !== null).toBe(isChangeable);
    });
  });

  test('the form of an entry', () => {
    expect(parseMount('/a/b:/c:ro')).toEqual({ source: '/a/b', target: '/c' });
    expect(() => parseMount('a:b')).toThrow(MountRefused);
  });
});
