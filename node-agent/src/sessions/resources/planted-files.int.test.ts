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
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';
import { assignment } from '../../testing/assignments.ts';
import { ControlStandIn } from '../../testing/control-stand-in.ts';

const UIDS: [number, number] = [71_170, 71_179];
/** A local user of the machine, who is neither root nor an agent. */
const STRANGER = 71_199;
const NOBODY = 65_534;
const NUMBERS = Array.from({ length: 1_000 }, (_, number) => number);
const HEALTH_LIMIT_MS = 1_000;
const GIB = 1024 ** 3;

/** What may lie where a server would put its lock or socket. */
const THINGS: Record<string, (paths: readonly string[]) => void> = {
  pipe: (paths) => makeNodes('p', paths),
  // Reading the console's log waits for its next line.
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
/** The device that takes everything and gives nothing: only root can make one. */
const DEVICE = { device: (paths: readonly string[]) => makeNodes('c 1 3', paths) };

function makeNodes(type: string, paths: readonly string[]): void {
  execFileSync('sh', ['-ec', 'while read -r path; do mknod -m 666 "$path" $0; done', type], {
    input: paths.map((path) => `${path}\n`).join(''),
  });
}

/** Puts it where nothing lies yet, as another user. @returns what removes those that are still there */
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
  let control: ControlStandIn;
  let agent: ChildProcess;
  let healthUrl: string;

  beforeAll(async () => {
    // Not below /tmp, which sessions of root do not see.
    directory = await mkdtemp('/var/tmp/footlight-planted-');
    await chmod(directory, 0o711);
    const stateDir = join(directory, 'state');
    await mkdir(stateDir, { mode: 0o711 });
    if (uid !== null) await chown(stateDir, uid, uid);
    control = await ControlStandIn.listen();
    const healthPort = await freePort();
    healthUrl = `http://127.0.0.1:${healthPort}/health`;
    agent = startAgentProcess({ control, stateDir, uids: UIDS, uid, healthPort });
    await firstHeartbeat(agent, control);
  });

  afterAll(async () => {
    // One that hangs would not go otherwise.
    agent.kill('SIGKILL');
    await exitOf(agent);
    await control.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Launches and stops a session, and asks the agent for its health meanwhile. @returns the slowest answer in ms */
  async function launchAndAsk(): Promise<number> {
    const body = assignment(['xterm']);
    const isMine = ({ session_id }: { session_id: string }) => session_id === body.session_id;
    let launching = true;
    let slowest = 0;
    const asking = (async () => {
      while (launching) {
        const askedMs = performance.now();
        await fetch(healthUrl, { headers: { connection: 'close' }, signal: AbortSignal.timeout(5_000) });
        slowest = Math.max(slowest, performance.now() - askedMs);
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
      // An agent that hangs never says anything; its health tells at once.
      expect(await Promise.race([shown, asking])).toMatchObject({ state: 'running' });
      await control.command({ type: 'session_stop', session_id: body.session_id, reason: 'admin' });
      await control.wait('session_state', (report) => isMine(report) && report.state === 'stopped');
    } finally {
      launching = false;
    }
    await asking;
    return slowest;
  }

  test.each(Object.entries({ ...THINGS, ...DEVICE }))(
    'with a %s at every lock: the next launch works, and it answers meanwhile',
    async (_thing, make) => {
      const remove = plant(
        NUMBERS.map((number) => `/tmp/.X${number}-lock`),
        make,
      );
      try {
        expect(await launchAndAsk(), 'slowest /health, ms').toBeLessThan(HEALTH_LIMIT_MS);
      } finally {
        remove();
      }
    },
  );

  // The directory is sticky: what others put there, an ordinary user cannot remove.
  test
    .runIf(uid === null)
    .each(
      Object.entries({ ...THINGS, ...DEVICE }).flatMap(([thing, make]) => [
        [thing, 'socket', make, (number: number) => `/tmp/.X11-unix/X${number}`] as const,
        [thing, 'keyboard map', make, (number: number) => `/tmp/server-${number}.xkm`] as const,
      ]),
    )(
    'with a %s at every %s: the next launch works, and it answers meanwhile',
    async (_thing, _what, make, at) => {
      const remove = plant(NUMBERS.map(at), make);
      try {
        expect(await launchAndAsk(), 'slowest /health, ms').toBeLessThan(HEALTH_LIMIT_MS);
      } finally {
        remove();
      }
    },
  );
});
