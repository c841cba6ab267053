import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createLogger, type Logger, silentLogger, systemClock } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHome } from '../sessions/home/home.ts';
import { makeStateDir, RUNTIME_SESSION, startRuntimeApp } from '../testing/runtime-app.ts';
import { commandOf } from '../testing/traces.ts';
import { enterCgroup, makeCgroup, removeCgroupDirs } from './cgroups.ts';
import { listProcesses, SESSION_VARIABLE, startVariable } from './proc-table.ts';
import { APP_TMP_BYTES, findIsolation, type Isolation } from './process.ts';
import { startChild } from './programs/child.ts';

const USER = { uid: 71_610, gid: 71_610, groups: [] };
const OTHER_SESSION = '7c1f6a64-5d0e-4b7d-9a53-0f6a7a1c2d3e';
const isRoot = process.getuid?.() === 0;
const WHO_AM_I = [
  'id -u; id -g; id -G; grep "Max processes" /proc/self/limits; grep -E "NoNewPrivs|Cap|Seccomp" /proc/self/status',
  'df --block-size=1 --output=target,size /tmp /dev/shm',
  // Uses much memory, because `tail` must store all of its input.
  'head -c 200000000 /dev/zero | tail -c 200000000 | wc -c | sed "s/^/got /"',
].join('; ');
/** Opens terminals and keeps them open. */
const TERMINALS = `
import os, time
for _ in range(4): os.openpty()
print("terminals", sorted(os.listdir("/dev/pts")), flush=True)
time.sleep(60)
`;
/**
 * Creates a socket in every writable directory, and makes the socket and its own directories accessible to all users.
 */
const OFFERS = `
import os, socket, time
sockets = []
for place in os.environ["PLACES"].split() + [os.environ["HOME"], os.environ["XDG_RUNTIME_DIR"]]:
  path = place + "/meet"
  try:
    for own in (place, os.path.dirname(place)):
      if os.stat(own).st_uid == os.getuid(): os.chmod(own, 0o777)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    os.chmod(path, 0o777)
    sockets.append(server)
    print("offers", path, flush=True)
  except OSError: pass
print("ready", flush=True)
time.sleep(60)
`;
const COMES = `
import os, socket
for path in os.environ["OFFERED"].split():
  try:
    socket.socket(socket.AF_UNIX).connect(path)
    print("met", path)
  except OSError: pass
print("done")
`;
/** Every program that runs, or could run, between the agent and the app. */
const ON_THE_WAY = ['nsenter', 'setpriv', 'bwrap', 'sh', 'cat', 'prlimit', 'env', 'choom', 'dbus-daemon'];

const PROBE = 'probe-of-the-tests';

function canLimit(): boolean {
  return groupsOf(PROBE).length > 0;
}

/** Directories of the control groups that an app of this name gets; empty: this machine does not permit groups. */
function groupsOf(name: string): string[] {
  const group = makeCgroup(PROBE, { memoryBytes: 64 * 1024 * 1024, cpus: 0 });
  removeCgroupDirs(group?.dirs ?? []);
  return (group?.dirs ?? []).map((dir) => dir.replace(PROBE, name));
}

/** A logger that keeps its lines. */
function keptLog(): { logger: Logger; lines: { event: string; cgroups: string[] }[] } {
  const lines: { event: string; cgroups: string[] }[] = [];
  return { logger: createLogger('warn', { write: (line) => void lines.push(JSON.parse(line)) }), lines };
}

describe.each([
  ['in its own namespaces', true],
  ['if namespaces cannot be created', false],
] as const)('an agent that is root starts an app %s', (_name, isolated) => {
  const isolation: Isolation = isolated ? 'root' : 'none';
  let stateDir: string;

  beforeAll(() => {
    stateDir = makeStateDir();
  });
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

  function start(args: string[], env: Record<string, string>) {
    const options = { isolation, memoryMb: 64, pids: 321 };
    return startRuntimeApp({ stateDir, user: USER, args, env, options });
  }

  test.skipIf(!isRoot)(
    'with a link in place of its home: it does not start in a directory of others',
    async () => {
      // A directory that the app's user may read, but cannot reach, because the path to it is closed.
      const inside = join(stateDir, 'closed', 'inside');
      const options = { isolation, memoryMb: 64, pids: 321 };
      const arrange = (home: string) => {
        mkdirSync(inside, { recursive: true });
        chmodSync(join(stateDir, 'closed'), 0o700);
        writeFileSync(join(inside, 'file'), 'GOT', { mode: 0o644 });
        rmSync(home, { recursive: true });
        symlinkSync(inside, home);
      };
      const { app } = await startRuntimeApp({
        stateDir,
        user: USER,
        args: ['cat', 'file'],
        options,
        arrange,
      });
      await app.exited;
      await app.stop(0);
      expect(app.logTail()).not.toContain('GOT');
    },
  );

  test.skipIf(!isRoot)(
    'as the session’s user, with its limits and without new rights, never as root',
    async () => {
      if (isolated) expect(await findIsolation(silentLogger())).toBe('root');
      const { app } = await start(['/bin/sh', '-c', WHO_AM_I], {});
      await app.exited;
      await app.stop(0);
      const lines = app.logTail().split('\n');
      expect(lines).toEqual(
        expect.arrayContaining([
          '71610',
          expect.stringMatching(/^Max processes +321 /),
          'NoNewPrivs:	1',
          ...['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => `${set}:	0000000000000000`),
          // 2 is SECCOMP_MODE_FILTER, which only bubblewrap sets.
          isolated ? 'Seccomp:	2' : 'Seccomp:	0',
        ]),
      );
      expect(lines.filter((line) => line === '0')).toEqual([]);
      if (!isolated) return;
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^/tmp +${APP_TMP_BYTES}$`)));
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^/dev/shm +${APP_TMP_BYTES}$`)));
      if (canLimit()) expect(lines).toContain('got 0');
    },
  );

  // After the session's end, a descriptor that was passed to another session would still keep memory in use, and would
  // still count for the user id.
  test
    .skipIf(!isRoot || !isolated)
    .each(['in any directory', 'in its home, though both belong to one person'])(
    'that cannot exchange descriptors with an app of another session %s',
    async (place) => {
      const PLACES = '/tmp /var/tmp /run/lock /dev/shm /dev/mqueue';
      const other = { uid: 71_611, gid: 71_611, groups: [] };
      const homeOf = async (name: string, user: typeof USER) => {
        if (place === 'in any directory') return { user };
        const home = join(stateDir, 'homes', 'alice', name);
        return { home, user: { ...user, groups: await openHome(join(stateDir, 'homes'), home, user) } };
      };
      const { app: first } = await startRuntimeApp({
        stateDir,
        args: ['python3', '-c', OFFERS],
        env: { PLACES },
        ...(await homeOf('one', USER)),
      });
      await expect.poll(() => first.logTail()).toContain('ready');
      const offered = first.logTail().match(/(?<=^offers ).*/gm) ?? [];
      const { app: second } = await startRuntimeApp({
        stateDir,
        sessionId: OTHER_SESSION,
        ...(await homeOf('two', other)),
        args: ['python3', '-c', COMES],
        env: { OFFERED: offered.join(' ') },
      });
      await second.exited;
      const found = second.logTail();
      await Promise.all([first, second].map((app) => app.stop(0)));
      expect(offered.length).toBeGreaterThan(4);
      expect(found).toBe('done');
    },
  );

  test.skipIf(!isRoot || !isolated)('with terminals of its own', async () => {
    const before = readdirSync('/dev/pts');
    const { app } = await start(['python3', '-c', TERMINALS], {});
    await expect.poll(() => app.logTail()).toContain('terminals');
    const during = readdirSync('/dev/pts');
    const found = app.logTail();
    await app.stop(0);
    expect(found).toBe("terminals ['0', '1', '2', '3', 'ptmx']");
    expect(during).toEqual(before);
  });

  test.skipIf(!isRoot || !isolated || !canLimit())(
    'with the process that carries its traffic in its control group',
    async () => {
      const { app } = await start(['sleep', '60'], {});
      try {
        const groups = listProcesses()
          .filter(({ pid }) => commandOf(pid).startsWith('/usr/bin/pasta'))
          .map(({ pid }) => readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
        expect(groups.filter((group) => group.includes(RUNTIME_SESSION))).toHaveLength(1);
      } finally {
        await app.stop(0);
      }
    },
  );

  test.skipIf(!isRoot || !isolated || !canLimit())(
    'in a group for processor time even without a limit, so that all its processes count as one of the host',
    async () => {
      const { app } = await start(['cat', '/proc/self/cgroup'], {});
      await app.exited;
      const groups = app.logTail();
      await app.stop(0);
      expect(groups).toMatch(new RegExp(`^(\\d+:cpu[^:]*|0:):.*${RUNTIME_SESSION}$`, 'm'));
    },
  );

  test.skipIf(!isRoot || !isolated || !canLimit())(
    'and logs the control groups that still contain a process after its end',
    async () => {
      const groups = groupsOf(RUNTIME_SESSION);
      const { logger, lines } = keptLog();
      const options = { isolation, memoryMb: 64 };
      const { app } = await startRuntimeApp({ stateDir, user: USER, args: ['sleep', '60'], options, logger });
      const other = await startChild(['sleep', '60'], { env: { PATH: '/usr/bin:/bin' } });
      try {
        const procsFiles = groups.map((dir) => join(dir, 'cgroup.procs'));
        enterCgroup(procsFiles, other.pid);
        await app.stop(0);
        expect(lines).toMatchObject([{ event: 'app.cgroup_left', cgroups: groups }]);
      } finally {
        other.signal('SIGKILL');
        await other.exited;
        await expect.poll(() => removeCgroupDirs(groups)).toEqual([]);
      }
    },
  );

  test.skipIf(!isRoot || !isolated || !canLimit())(
    'whose processes do not end in time: the error names them, and its control groups are removed or logged',
    async () => {
      const groups = groupsOf(RUNTIME_SESSION);
      const { logger, lines } = keptLog();
      const clock = { ...systemClock };
      const options = { isolation, memoryMb: 64 };
      const args = ['sleep', '60'];
      const { app } = await startRuntimeApp({ stateDir, user: USER, args, options, logger, clock });
      // Every time limit expires before this process can see the end of a child.
      clock.setTimeout = (run) => {
        queueMicrotask(run);
        return { cancel: () => undefined };
      };
      await expect(app.stop(0)).rejects.toThrow(/^the app does not end; its processes: \d+/);
      clock.setTimeout = systemClock.setTimeout;
      const logged = lines.flatMap(({ cgroups }) => cgroups);
      expect(groups.filter((dir) => existsSync(dir) && !logged.includes(dir))).toEqual([]);
      await app.exited;
      await expect.poll(() => removeCgroupDirs(groups)).toEqual([]);
    },
  );

  test.skipIf(!isRoot)(
    'whose variables are passed unchanged to the app, and to no process of root',
    async () => {
      const planted = join(stateDir, 'planted');
      mkdirSync(planted);
      chmodSync(planted, 0o1777);
      for (const name of ON_THE_WAY) {
        const script = `#!/bin/sh\n: >"${planted}/ran-${name}-$$"\n`;
        writeFileSync(join(planted, name), script, { mode: 0o755 });
      }
      const env = {
        PATH: planted,
        // Variables of the dynamic loader, like LD_PRELOAD. The loader writes a file for each program that gets these
        // variables.
        LD_DEBUG: 'libs',
        LD_DEBUG_OUTPUT: join(planted, 'loader'),
        LD_LIBRARY_PATH: planted,
        ENV: join(planted, 'ENV'),
        'NOT.A-SHELL NAME': 'kept',
        EVERYTHING: ` "quoted" 'single' $HOME \\ \n\t\u0001 é 💡 a=b `,
        EMPTY: '',
        LC_ALL: 'xx_XX.no-such',
      };
      try {
        const { app, home } = await start(
          ['/bin/sh', '-c', '/bin/cat /proc/$$/environ >"$HOME/environ"'],
          env,
        );
        await app.exited;
        await app.stop(0);
        const ran = readdirSync(planted).filter((name) => /^(ran|loader)/.test(name));
        expect(ran.filter((name) => statSync(join(planted, name)).uid !== USER.uid)).toEqual([]);
        expect(ran).toContainEqual(expect.stringMatching(/^loader/));
        const seen = readFileSync(join(home, 'environ'), 'utf8').split('\0');
        expect(seen).toEqual(
          expect.arrayContaining(Object.entries(env).map(([name, value]) => `${name}=${value}`)),
        );
        expect(seen).toEqual(expect.arrayContaining([`HOME=${home}`, 'DISPLAY=:0']));
      } finally {
        rmSync(planted, { recursive: true, force: true });
      }
    },
  );

  // Vitest fails the run if a rejection has no handler, because the agent would end then.
  test.skipIf(!isRoot)(
    'never when its session ends while its sandbox is being made, and leaves no process',
    async () => {
      const ready = new Promise<void>((_, reject) => {
        setImmediate(() => reject(new Error('the session ended')));
      });
      ready.catch(() => undefined);
      const options = { isolation };
      const started = startRuntimeApp({ stateDir, user: USER, args: ['sleep', '60'], options, ready });
      await expect(started).rejects.toThrow('the session ended');
      const left = listProcesses().filter(
        ({ pid }) => startVariable(pid, SESSION_VARIABLE) === RUNTIME_SESSION,
      );
      expect(left).toEqual([]);
    },
  );
});
