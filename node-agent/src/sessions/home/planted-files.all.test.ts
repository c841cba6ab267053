import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  ftruncateSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { delay, systemClock } from '@footlight/platform';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';

const UIDS: [number, number] = [71_170, 71_179];
/** A local user of the machine, which is neither root nor the agent's user. */
const STRANGER = 71_199;
const NOBODY = 65_534;
const NUMBERS = Array.from({ length: 1_000 }, (_, number) => number);
const HEALTH_LIMIT_MS = 10_000;
const GIB = 1024 ** 3;

/** Entries that a user may create at the path of a server's lock or socket, as an attack. */
const THINGS: Record<string, (paths: readonly string[]) => void> = {
  pipe: (paths) => makeNodes('os.mkfifo(path)', paths),
  // Reading the kernel log device would block until its next line.
  'link to a device': (paths) => {
    for (const path of paths) symlinkSync('/proc/kmsg', path);
  },
  'huge file': (paths) => {
    for (const path of paths) {
      const file = openSync(path, 'wx');
      ftruncateSync(file, 8 * GIB);
      closeSync(file);
    }
  },
  directory: (paths) => {
    for (const path of paths) mkdirSync(join(path, 'deep'), { recursive: true });
  },
  'lock of a process that is no server': (paths) => {
    for (const path of paths) writeFileSync(path, '         1\n', { flag: 'wx' });
  },
};
/** The null device, which only root can create. */
const DEVICE = {
  device: (paths: readonly string[]) => makeNodes('os.mknod(path, stat.S_IFCHR, os.makedev(1, 3))', paths),
};

/**
 * Uses one process for all nodes, because a thousand calls of mknod(1) take 2 s.
 * @param make Python code that creates a node at `path`
 */
function makeNodes(make: string, paths: readonly string[]): void {
  const script = `import os, stat, sys\nfor path in sys.stdin.read().split():\n  ${make}\n  os.chmod(path, 0o666)`;
  execFileSync('python3', ['-c', script], { input: paths.join('\n') });
}

/** Creates the entry at all free paths, as another user. @returns a function that removes the remaining entries */
function plant(paths: readonly string[], make: (paths: readonly string[]) => void): () => void {
  const free = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined);
  make(free);
  for (const path of free) lchownSync(path, STRANGER, STRANGER);
  const marks = new Map(free.map((path) => [path, lstatSync(path).ino]));
  return () => {
    for (const [path, ino] of marks) {
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path, { recursive: true });
    }
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

describe.runIf(process.getuid?.() === 0).each([
  { name: 'root', uid: null },
  { name: 'an ordinary user', uid: NOBODY },
])('an agent that runs as $name', ({ uid }) => {
  let directory: string;
  let control: FakeControl;
  let agent: ChildProcess;
  let healthUrl: string;

  beforeAll(async () => {
    // Not below /tmp, because sessions of a root agent do not see the host's /tmp.
    directory = await mkdtemp('/var/tmp/footlight-planted-');
    await chmod(directory, 0o711);
    const stateDir = join(directory, 'state');
    await mkdir(stateDir, { mode: 0o711 });
    if (uid !== null) await chown(stateDir, uid, uid);
    control = await FakeControl.listen();
    const healthPort = await freePort();
    healthUrl = `http://127.0.0.1:${healthPort}/health`;
    agent = startAgentProcess({ control, stateDir, uids: UIDS, uid, healthPort });
    await firstHeartbeat(agent, control);
  });

  afterAll(async () => {
    // SIGKILL is necessary, because an agent that hangs ignores other signals.
    agent.kill('SIGKILL');
    await exitOf(agent);
    await control.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Launches and stops a session. At the same time, requests the agent's health page. */
  async function launchAndAsk(): Promise<void> {
    const body = assignment(['xterm']);
    const isMine = ({ session_id }: { session_id: string }) => session_id === body.session_id;
    let launching = true;
    const asking = (async () => {
      while (launching) {
        await fetch(healthUrl, {
          headers: { connection: 'close' },
          signal: AbortSignal.timeout(HEALTH_LIMIT_MS),
        });
        await delay(systemClock, 20);
      }
    })();
    asking.catch(() => undefined);
    try {
      expect(await control.command(body)).toMatchObject({ ok: true });
      await control.command({ type: 'session_start', session_id: body.session_id });
      const shown = control.wait(
        'session_state',
        (report) => isMine(report) && (report.detail === 'app presented' || report.state === 'failed'),
      );
      // Fails early if the health page does not answer, because a hanging agent would never report the state.
      expect(await Promise.race([shown, asking])).toMatchObject({ state: 'running' });
      await control.command({ type: 'session_stop', session_id: body.session_id, reason: 'admin' });
      await control.wait('session_state', (report) => isMine(report) && report.state === 'stopped');
    } finally {
      launching = false;
    }
    await asking;
  }

  test.each(Object.entries({ ...THINGS, ...DEVICE }))(
    'with a %s at every lock path: the next launch works, and the agent answers meanwhile',
    async (_thing, make) => {
      const remove = plant(
        NUMBERS.map((number) => `/tmp/.X${number}-lock`),
        make,
      );
      try {
        await launchAndAsk();
      } finally {
        remove();
      }
    },
  );

  // The directory is sticky, so an ordinary user cannot remove entries of others.
  test.runIf(uid === null).each(Object.entries({ ...THINGS, ...DEVICE }))(
    'with a %s at every socket and keyboard map path: the next launch works, and the agent answers meanwhile',
    async (_thing, make) => {
      const remove = plant(
        NUMBERS.flatMap((number) => [`/tmp/.X11-unix/X${number}`, `/tmp/server-${number}.xkm`]),
        make,
      );
      try {
        await launchAndAsk();
      } finally {
        remove();
      }
    },
  );
});
