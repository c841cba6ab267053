import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { execaSync } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { HomeFiles } from '../../../files/home-files.ts';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../../testing/agent-process.ts';
import { type HostedSessions, startHostedSessions } from '../../../testing/hosted-sessions.ts';
import { BASE_MARK, openOverBase } from './home-base.ts';
import { mountOverlay } from './overlay.ts';

const display = vi.hoisted(() => ({ fails: false }));
vi.mock(import('../../../display/xvfb.ts'), async (original) => {
  const { startXvfb, ...others } = await original();
  return {
    ...others,
    startXvfb: (...args) =>
      display.fails ? Promise.reject(new Error('no display in this test')) : startXvfb(...args),
  };
});

/** Writes each line as the app sees it, then ends; the output is in the last report of the session. */
const ended = (script: string) => ['/bin/sh', '-c', `cd; ${script}; exit 1`];

/** Every path below a directory with owner, mode, time and digest. */
const stateOf = (directory: string): string =>
  execaSync(
    'sh',
    ['-c', 'find . -printf "%p %U %G %m %T@ %l\\n" | sort; find . -type f -exec sha256sum {} + | sort'],
    { cwd: directory },
  ).stdout;

const mountsOf = (path: string): number =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(path)).length;
const mounted = (path: string): boolean => mountsOf(path) > 0;

describe.runIf(process.getuid?.() === 0)('a base below the homes of several people', () => {
  let host: Awaited<ReturnType<typeof startHostedSessions>>;
  let sessions: HostedSessions;
  let base: string;

  beforeAll(async () => {
    host = await startHostedSessions([71_800, 71_809]);
    ({ sessions } = host);
  });
  afterAll(() => host?.close());

  beforeEach(() => {
    // In /srv, because directories of the system are refused.
    base = makeBase();
  });
  afterEach(() => {
    expect(mounted(host.stateDir)).toBe(false);
    rmSync(base, { recursive: true, force: true });
  });

  const homeOf = (person: string) => join(host.stateDir, `homes/${person}-00000001/game-00000002`);

  async function run(person: string, script: string) {
    const body = assignment(ended(script));
    body.app.home = { provider: 'local', ref: homeOf(person), container_path: '/home', base };
    await sessions.launch(body);
    const end = await sessions.ended(body);
    return { end, lines: (end.app_log_tail ?? '').split('\n') };
  }

  test('each sees the base with own changes, and the base stays the same byte for byte', async () => {
    const before = stateOf(base);
    const alice = await run(
      'alice',
      'cat readme levels/one; pwd; echo A > readme2; rm readme; echo A > levels/one; rm -r old; ls',
    );
    expect(alice.lines.slice(0, 2)).toEqual(['read me', 'level']);
    expect(alice.lines[2]).toBe(homeOf('alice'));
    expect(alice.lines.slice(3)).toEqual(['levels', 'readme2']);
    const bob = await run('bob', 'cat readme levels/one old/file; echo B > levels/one; ls');
    expect(bob.lines).toEqual(['read me', 'level', 'old', 'levels', 'old', 'readme']);
    // The next session of each person, possibly with another uid.
    expect((await run('alice', 'cat levels/one; ls')).lines).toEqual(['A', 'levels', 'readme2']);
    expect((await run('bob', 'cat levels/one readme')).lines).toEqual(['B', 'read me']);
    expect(stateOf(base)).toBe(before);
    // Only changes are in the home, so only these are measured.
    expect(existsSync(join(homeOf('bob'), 'readme'))).toBe(false);
    expect(bob.end.home_bytes).toBeLessThan(200_000);
    expect(execaSync('ls', ['-A', join(homeOf('bob'), '..')]).stdout).toBe('game-00000002');
  });

  test('the app can neither write nor enter the base itself', async () => {
    const before = stateOf(base);
    const { lines } = await run(
      'carol',
      `ls ${base} || echo closed; echo x > ${base}/levels/one || echo kept`,
    );
    expect(lines.filter((line) => ['closed', 'kept'].includes(line))).toEqual(['closed', 'kept']);
    expect(stateOf(base)).toBe(before);
  });

  test('a change of the app mounts the home of the new app, and unmounts the former one', async () => {
    const from = assignment(['/bin/sh', '-c', 'cd; rm readme; exec xterm']);
    from.app.home = { provider: 'local', ref: homeOf('erin'), container_path: '/home', base };
    await sessions.launch(from);
    await sessions.reached(from, 'app presented');
    expect(mountsOf(host.stateDir)).toBe(1);
    const to = assignment(['/bin/sh', '-c', 'cd; cp readme copy; exec xterm']);
    to.app.home = { provider: 'local', ref: homeOf('frank'), container_path: '/home', base };
    const { session_id } = from;
    const { app_id, app } = to;
    await host.control.command({ type: 'session_swap_app', session_id, app_id, app });
    const swapped = await host.control.wait(
      'session_state',
      (report) => report.session_id === session_id && report.swap !== undefined,
    );
    expect(swapped.swap).toMatchObject({ result: 'complete' });
    await expect.poll(() => mountsOf(host.stateDir), { timeout: 20_000 }).toBe(1);
    await sessions.stop(from);
    expect(readFileSync(join(homeOf('frank'), 'copy'), 'utf8')).toBe('read me\n');
    // The whiteout of the file that the first app deleted.
    expect(statSync(join(homeOf('erin'), 'readme')).isCharacterDevice()).toBe(true);
  });

  test('a session that fails while its home is still being mounted ends after the mount, and unmounts it', async () => {
    const { PATH } = process.env;
    const programs = mkdtempSync('/tmp/footlight-programs-');
    const mountedFile = join(programs, 'mounted');
    const slowMount = `#!/bin/sh\nsleep 3; PATH='${PATH}' mount "$@" && touch ${mountedFile}\n`;
    writeFileSync(join(programs, 'mount'), slowMount, { mode: 0o755 });
    process.env.PATH = `${programs}:${PATH}`;
    display.fails = true;
    try {
      const { end } = await run('gina', 'ls');
      expect(end).toMatchObject({ state: 'failed', failure_code: 'display_failed' });
      expect(existsSync(mountedFile)).toBe(true);
      expect(mounted(host.stateDir)).toBe(false);
    } finally {
      display.fails = false;
      process.env.PATH = PATH;
      rmSync(programs, { recursive: true });
    }
  });

  test('a person lists, fetches and deletes the files of the base too, and the base stays', async () => {
    const before = stateOf(base);
    const [home, mounts] = [join(host.stateDir, 'own'), join(host.stateDir, 'mounts')];
    for (const directory of [home, mounts]) mkdirSync(directory);
    const opened = await open(base);
    const overlay = await mountOverlay(opened, home, mounts, 1);
    if ('why' in overlay) throw new Error(overlay.why);
    const files = new HomeFiles(overlay.path, () => '0123456789abcdef');
    const names = () => files.list('').entries.map(({ name }) => name);
    try {
      expect(names()).toEqual(expect.arrayContaining(['readme', 'levels']));
      const { fd, size } = files.open('readme');
      closeSync(fd);
      expect(size).toBe(8);
      files.rename('readme', 'renamed');
      files.delete('old/file');
      expect(names()).toEqual(expect.arrayContaining(['renamed', 'levels']));
      expect(names()).not.toContain('readme');
      expect(files.list('old').entries).toEqual([]);
    } finally {
      files.close();
      await opened.close();
      await overlay.unmount();
    }
    expect(stateOf(base)).toBe(before);
  });

  test.each([
    ['the host does not permit it', () => rmSync(join(base, BASE_MARK)), /create the file/],
    ['every user can enter it', () => execaSync('chmod', ['755', base]), /chmod 700/],
    ['it does not exist', () => rmSync(base, { recursive: true }), /does not exist/],
    [
      'a link leads to it',
      () => {
        const real = makeBase();
        rmSync(base, { recursive: true });
        symlinkSync(real, base);
      },
      /link/,
    ],
    [
      'a file system is mounted in it',
      () => void execaSync('mount', ['-t', 'tmpfs', 'tmpfs', join(base, 'levels')]),
      /mounted in it/,
    ],
  ])('is refused if %s', async (_, spoil, why) => {
    spoil();
    const real = execaSync('readlink', [base], { reject: false }).stdout;
    try {
      const { end } = await run('dave', 'echo started');
      expect(end).toMatchObject({ state: 'failed', failure_code: 'home_base_unavailable' });
      expect(end.error).toMatch(why);
      expect(end.app_log_tail ?? '').not.toContain('started');
    } finally {
      execaSync('umount', [join(base, 'levels')], { reject: false });
      if (real !== '') rmSync(real, { recursive: true, force: true });
    }
  });
});

/** The file systems of most test machines share no blocks, so that `cp --reflink=always` would fail. */
const CP_WITHOUT_REFLINK = `#!/bin/sh
for argument; do
  shift
  [ "$argument" = --reflink=always ] || set -- "$@" "$argument"
done
exec /bin/cp "$@"
`;

describe.runIf(process.getuid?.() === 0)('a home on a host without overlays', () => {
  const { PATH } = process.env;
  let directory: string;
  let base: string;
  let home: string;

  beforeEach(() => {
    base = makeBase();
    directory = mkdtempSync('/tmp/footlight-copies-');
    home = join(directory, 'homes/alice-1/game-2');
    for (const path of [home, join(directory, 'state'), join(directory, 'bin')])
      mkdirSync(path, { recursive: true });
    writeFileSync(join(directory, 'bin/cp'), CP_WITHOUT_REFLINK, { mode: 0o755 });
    process.env.PATH = `${join(directory, 'bin')}:${PATH}`;
  });
  afterEach(() => {
    process.env.PATH = PATH;
    for (const path of [base, directory]) rmSync(path, { recursive: true });
  });

  const launch = (overlayProblem: string | null = 'not in this test') =>
    openOverBase(
      {
        ...{ base, home, provider: 'local', user: null, number: 1, overlayProblem },
        ...{ homeRoot: join(directory, 'homes'), stateDir: join(directory, 'state'), mounts: directory },
      },
      new AbortController().signal,
    );

  test('stays a copy, even if the person deletes all its dotfiles', async () => {
    await launch();
    expect(readFileSync(join(home, 'readme'), 'utf8')).toBe('read me\n');
    writeFileSync(join(home, 'readme'), 'mine');
    for (const name of readdirSync(home)) if (name.startsWith('.')) rmSync(join(home, name));
    expect(await launch()).toBeNull();
    expect(readFileSync(join(home, 'readme'), 'utf8')).toBe('mine');
  });

  test('gets a new copy after the person has deleted everything in it', async () => {
    await launch();
    for (const name of readdirSync(home)) rmSync(join(home, name), { recursive: true });
    expect(await launch()).toBeNull();
    expect(readFileSync(join(home, 'readme'), 'utf8')).toBe('read me\n');
  });

  test.each(['.footlight-clone', '.cloned-game-2'])('is no copy because of a file %s in it', async (name) => {
    writeFileSync(join(home, name), '');
    await expect(launch()).rejects.toThrow(/has files already/);
    const overlay = await launch(null);
    expect(readFileSync(join(overlay?.path ?? '', 'readme'), 'utf8')).toBe('read me\n');
    await overlay?.unmount();
  });

  test('is no copy because an earlier home at its path was one', async () => {
    await launch();
    rmSync(home, { recursive: true });
    mkdirSync(home);
    writeFileSync(join(directory, 'bin/cp'), '#!/bin/sh\nexit 1\n');
    await expect(launch()).rejects.toThrow(/neither an overlay .* nor a copy/);
    writeFileSync(join(home, 'save'), '');
    await expect(launch()).rejects.toThrow(/has files already/);
  });
});

test.runIf(process.getuid?.() === 0)(
  'kill -9 of the agent: its next start unmounts the homes, and the files of both stay',
  { timeout: 90_000 },
  async () => {
    const directory = await mkdtemp('/var/tmp/footlight-base-');
    await chmod(directory, 0o711);
    const stateDir = join(directory, 'state');
    await mkdir(stateDir, { mode: 0o711 });
    const base = makeBase();
    const before = stateOf(base);
    const control = await FakeControl.listen();
    const agents: ChildProcess[] = [];
    const start = () => {
      const agent = startAgentProcess({ control, stateDir, uids: [71_810, 71_819], uid: null });
      agents.push(agent);
      return agent;
    };
    try {
      const first = start();
      await firstHeartbeat(first, control);
      const body = assignment(['/bin/sh', '-c', 'cd; echo mine > file; rm readme; exec xterm']);
      const ref = join(stateDir, 'homes/alice-00000001/game-00000002');
      body.app.home = { provider: 'local', ref, container_path: '/home', base };
      expect(await control.command(body)).toMatchObject({ ok: true });
      await control.command({ type: 'session_start', session_id: body.session_id });
      const shown = await control.wait(
        'session_state',
        ({ detail, state }) => detail === 'app presented' || state === 'failed',
      );
      expect(shown).toMatchObject({ state: 'running' });
      expect(mounted(stateDir)).toBe(true);
      first.kill('SIGKILL');
      await exitOf(first);
      expect(mounted(stateDir)).toBe(true);

      start();
      await expect.poll(() => mounted(stateDir), { timeout: 60_000 }).toBe(false);
      await expect
        .poll(() => execaSync('ls', ['-A', join(stateDir, 'sessions')]).stdout, { timeout: 60_000 })
        .toBe('');
      expect(readFileSync(join(ref, 'file'), 'utf8')).toBe('mine\n');
      expect(execaSync('ls', ['-A', join(ref, '..')]).stdout).toBe('game-00000002');
      expect(stateOf(base)).toBe(before);
    } finally {
      for (const agent of agents) agent.kill('SIGTERM');
      await Promise.all(agents.map(exitOf));
      await control.close();
      await rm(directory, { recursive: true, force: true });
      rmSync(base, { recursive: true, force: true });
    }
  },
);

/** A base in a directory of the host that no app can enter. */
function makeBase(): string {
  mkdirSync('/srv', { recursive: true });
  const base = mkdtempSync('/srv/footlight-base-');
  for (const name of ['levels', 'old']) mkdirSync(join(base, name));
  writeFileSync(join(base, BASE_MARK), '');
  writeFileSync(join(base, 'readme'), 'read me\n');
  writeFileSync(join(base, 'levels/one'), 'level\n');
  writeFileSync(join(base, 'old/file'), 'old\n');
  // Files are writable for everybody, because an app changes only its own layer.
  execaSync('chmod', ['-R', 'a+rwX', base]);
  execaSync('chmod', ['700', base]);
  return base;
}
