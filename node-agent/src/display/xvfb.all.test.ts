import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Clock, systemClock, systemRandom } from '@footlight/platform';
import { fastClock, ManualClock } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readProcess } from '../runtime/proc-table.ts';
import type { SessionDirs, SessionUser } from '../runtime/runtime.ts';
import { makeSessionDirs, sessionDirs } from '../sessions/resources/record.ts';
import { LAST_WORDS, type PlayedSocket, playedXServer } from '../testing/played-x-server.ts';
import { COOKIE_BYTES, setupRequest, writeCookie } from './cookie.ts';
import {
  DISPLAY_NUMBERS,
  displaySocket,
  makeSocketDir,
  removeDisplayFiles,
  socketMark,
} from './display-number.ts';
import { DISPLAY_SILENCE_MS, DisplayWatch } from './watch.ts';
import { XConnection } from './x11/x-connection.ts';
import { type Display, startXServer, startXvfb } from './xvfb.ts';

const root = process.getuid?.() === 0;
const USER = { uid: 71_390, gid: 71_390, groups: [] };

let dir: string;
let displays: Display[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'footlight-xvfb-'));
  chmodSync(dir, 0o711);
  displays = [];
});
afterEach(async () => {
  await Promise.all(displays.map((display) => display.close()));
  rmSync(dir, { recursive: true, force: true });
});

interface StartOptions {
  user?: SessionUser | null;
  ended?: AbortSignal;
  endNameHolders?: () => Promise<void>;
  clock?: Clock;
  /** A fake server that is started instead of an Xvfb. */
  played?: PlayedSocket;
}

/** Starts the display of a session; by default as the agent's user. */
async function start(
  n: number,
  {
    user = null,
    ended = new AbortController().signal,
    endNameHolders = async () => undefined,
    clock = systemClock,
    played,
  }: StartOptions = {},
): Promise<{ display: Display; dirs: SessionDirs }> {
  const sessionId = `00000000-0000-4000-8000-00000000000${n}`;
  const dirs = sessionDirs(dir, sessionId);
  await makeSessionDirs(dirs, user);
  const options = { sessionId, user, dirs, enter: [], ended, width: 64, height: 64 };
  const cookie = systemRandom.bytes(COOKIE_BYTES);
  await writeCookie(dirs.xauthority, cookie);
  if (user) chownSync(dirs.xauthority, user.uid, user.gid);
  const deps = { clock, random: systemRandom, env: process.env, endNameHolders };
  const display = await (played === undefined
    ? startXvfb(options, cookie, deps)
    : startXServer([playedXServer(dir), played], {}, options, cookie, deps));
  displays.push(display);
  return { display, dirs };
}

/**
 * Binds abstract names and listens on them, like a hostile program. Prints how many names it could bind, and keeps them
 * bound.
 */
const TAKE = `
import socket, sys
held = []
for name in sys.argv[1:]:
  s = socket.socket(socket.AF_UNIX)
  try: s.bind("\\0" + name)
  except OSError as error:
    print(error.strerror, flush=True)
    continue
  s.listen()
  held.append(s)
print(len(held), "taken", flush=True)
sys.stdin.read()
`;

async function takeNames(numbers: readonly number[]): Promise<{ said: string; end(): Promise<void> }> {
  const names = numbers.map((number) => displaySocket(number));
  const taker = spawn('python3', ['-c', TAKE, ...names], { stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  taker.stdout.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  await expect.poll(() => said).toContain(' taken');
  return {
    said,
    async end() {
      taker.stdin.end();
      await once(taker, 'exit');
    },
  };
}

/**
 * Whether the server accepts a client whose first bytes are these. Source: X Window System Protocol, "Connection
 * Setup".
 */
function letsIn(display: Display, cookie: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(display.socket, () => socket.write(setupRequest(cookie)));
    socket.once('error', reject);
    socket.once('data', (answer: Buffer) => {
      resolve(answer[0] === 1);
      socket.destroy();
    });
  });
}

test('displays of one user started at once have different numbers and sockets, and leave nothing', async () => {
  await Promise.all([1, 2, 3].map((n) => start(n)));
  expect(new Set(displays.map(({ number }) => number)).size).toBe(3);
  for (const { record } of displays) expect(await socketMark(record.number)).toBe(record.socket);
  await Promise.all(displays.map((display) => display.close()));
  for (const { number } of displays) expect(existsSync(`/tmp/.X${number}-lock`)).toBe(false);
});

test('the abstract name of a display is held while it lives, and free afterwards', async () => {
  const { display } = await start(1);
  // The abstract name, which libxcb tries before the socket file.
  const meanwhile = await takeNames([display.number]);
  await meanwhile.end();
  expect(meanwhile.said).toBe('Address already in use\n0 taken\n');
  await display.close();
  const after = await takeNames([display.number]);
  await after.end();
  expect(after.said).toBe('1 taken\n');
});

test('when an app holds every name, the app is ended before a launch gives up', async () => {
  const taker = await takeNames(Array.from({ length: DISPLAY_NUMBERS }, (_, number) => number));
  await expect(start(1)).rejects.toThrow('no display number is free');
  const { display } = await start(2, { endNameHolders: () => taker.end() });
  expect(await letsIn(display, display.cookie)).toBe(true);
});

test('a number with a taken abstract name is skipped, because clients would reach its holder', async () => {
  const { display } = await start(1);
  await display.close();
  // An X server without a lock file and without a socket file.
  const argv = [display.name, '-displayfd', '3', '-nolisten', 'tcp', '-nolisten', 'unix'];
  const other = spawn('Xvfb', argv, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  try {
    await once(other.stdio[3] as Readable, 'data');
    expect((await start(2)).display.number).not.toBe(display.number);
  } finally {
    other.kill();
    await once(other, 'exit');
  }
});

test.runIf(root)(
  'no other server of the host can take over the number of a session user’s display',
  async () => {
    const { display } = await start(1, { user: USER });
    expect(readProcess(display.record.pid)?.uid).toBe(USER.uid);
    const other = spawnSync('Xvfb', [display.name, '-nolisten', 'tcp'], { encoding: 'utf8', timeout: 5_000 });
    expect(other.stderr).toContain('already active');
    expect(await socketMark(display.number)).toBe(display.record.socket);
  },
);

/** Waits until the fake server is ready. @returns the number of the session's display */
async function numberOf(n: number): Promise<number> {
  const { home } = sessionDirs(dir, `00000000-0000-4000-8000-00000000000${n}`);
  const file = join(home, 'number');
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toBeTruthy();
  return Number(readFileSync(file, 'utf8'));
}

test.runIf(root)('one that is given up while it starts leaves no socket', async () => {
  const ended = new AbortController();
  const started = start(1, { user: USER, ended: ended.signal, played: 'binds only' });
  const failed = expect(started).rejects.toThrow('did not start');
  const number = await numberOf(1);
  expect(await socketMark(number)).not.toBe(null);
  ended.abort();
  await failed;
  expect(await socketMark(number)).toBe(null);
});

test('clients may connect as soon as the server listens; it has 10 s from its start to answer them', async () => {
  const { display } = await start(1, { played: 'listens', clock: fastClock(10) });
  const client = connect(display.socket);
  client.on('error', () => undefined);
  onTestFinished(() => void client.destroy());
  await once(client, 'connect');
  await expect(display.answers).rejects.toThrow('did not start: it gave no reason');
  expect(readProcess(display.record.pid)).toBe(null);
  await display.close();
  expect(await socketMark(display.number)).toBe(null);
});

test('a server that ends before it answers gives the reason', async () => {
  const { display } = await start(1, { played: 'listens' });
  process.kill(display.record.pid, 'SIGUSR1');
  await expect(display.answers).rejects.toThrow(`did not start: ${LAST_WORDS}`);
});

test.runIf(root)('other users of the machine cannot connect, so they take no place of a client', async () => {
  const { display } = await start(1, { user: USER });
  const asUser = (uid: number) =>
    spawnSync(
      'setpriv',
      [
        ...['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--', '/usr/bin/python3', '-c'],
        `import socket; print(socket.socket(socket.AF_UNIX).connect_ex("${display.socket}"))`,
      ],
      { encoding: 'utf8' },
    ).stdout.trim();
  const { EACCES } = constants.errno;
  expect([asUser(USER.uid), asUser(USER.uid + 1)]).toEqual(['0', String(EACCES)]);
});

describe.runIf(root)('a socket at its path is not taken for the server’s', () => {
  const STRANGER = 71_391;

  test.each<[string, PlayedSocket, (path: string) => Promise<void>]>([
    ['another process of its user listens there', 'has a child listen', async () => undefined],
    [
      'another user listens there',
      'nothing',
      async (path) => {
        const server = createServer().listen(path);
        onTestFinished(() => void server.close());
        await once(server, 'listening');
        chownSync(path, STRANGER, STRANGER);
      },
    ],
    [
      'it is a link to the socket of another display',
      'nothing',
      async (path) => {
        const { display } = await start(2, { user: USER });
        symlinkSync(display.socket, path);
        onTestFinished(() => rmSync(path, { force: true }));
      },
    ],
  ])('%s', async (_what, played, plant) => {
    const failed = expect(start(1, { user: USER, played, clock: fastClock(10) })).rejects.toThrow(
      'did not start',
    );
    const number = await numberOf(1);
    await plant(displaySocket(number));
    await failed;
  });
});

test.runIf(root)(
  'the socket directory is writable for all users, whatever user and umask created it',
  async () => {
    const directory = join(dir, 'sockets');
    await makeSocketDir(directory);
    const made = statSync(directory).mode;
    chmodSync(directory, 0o755);
    await makeSocketDir(directory);
    expect([made & 0o7777, statSync(directory).mode & 0o7777]).toEqual([0o1777, 0o1777]);
  },
);

test.skipIf(!root)(
  'an agent without root refuses a socket directory that another user could change',
  async () => {
    const [mine, theirs] = [USER.uid, USER.uid + 1];
    const directory = join(dir, 'sockets');
    const judge = () => makeSocketDir(directory, mine).then(() => 'used', String);
    const refused = `Error: other users of this machine can replace displays in ${directory}: sudo rm -r ${directory} && sudo install -d -m 1777 ${directory}`;
    // The agent created the directory, so its owner is root, because the test runs as root.
    expect([await judge(), statSync(directory).mode & 0o7777]).toEqual(['used', 0o1777]);
    chownSync(directory, mine, mine);
    expect(await judge()).toBe('used');
    chownSync(directory, theirs, theirs);
    expect(await judge()).toBe(refused);
    chownSync(directory, 0, 0);
    chmodSync(directory, 0o777);
    expect(await judge()).toBe(refused);
    rmSync(directory, { recursive: true });
    symlinkSync(dir, directory);
    expect(await judge()).toBe(refused);
  },
);

test('removes nothing of a later server that has its number and a socket with the same inode number', async () => {
  const number = 50_000 + (process.pid % 10_000);
  const listen = () => once(server.listen(displaySocket(number)), 'listening');
  const server = createServer();
  await listen();
  const former = { number, pid: process.pid, socket: await socketMark(number) };
  server.close();
  await once(server, 'close');
  await listen();
  await removeDisplayFiles(former);
  expect(await socketMark(number)).not.toBe(null);
  await removeDisplayFiles({ ...former, socket: await socketMark(number) });
  expect(await socketMark(number)).toBe(null);
  server.close();
});

test('listens only on its file socket, and accepts only clients with this session’s cookie', async () => {
  const [mine, other] = [await start(1), await start(2)];
  const sockets = readFileSync('/proc/net/unix', 'latin1').split('\n');
  // The flag __SO_ACCEPTCON (00010000), which listening sockets have.
  const listens = (path: string) =>
    sockets.some((line) => line.endsWith(` ${path}`) && line.split(' ')[3] === '00010000');
  expect(listens(mine.display.socket)).toBe(true);
  expect(listens(`@${mine.display.socket}`)).toBe(false);
  expect(await letsIn(mine.display, mine.display.cookie)).toBe(true);
  expect(await letsIn(mine.display, other.display.cookie)).toBe(false);
  expect(await letsIn(mine.display, Buffer.alloc(0))).toBe(false);
  for (const inner of [mine.dirs.scratch, mine.dirs.home, mine.dirs.tmp, mine.dirs.run])
    expect(statSync(inner).mode & 0o777, inner).toBe(0o700);
  expect(statSync(mine.dirs.xauthority).mode & 0o777).toBe(0o600);
});

test('a hanging server is reported once, after 5 s without an answer', async () => {
  const { display } = await start(1);
  const clock = new ManualClock();
  let told = 0;
  process.kill(display.record.pid, 'SIGSTOP');
  const watched = new DisplayWatch(display.socket, display.cookie, clock, () => told++);
  clock.advance(DISPLAY_SILENCE_MS - 1);
  expect(told).toBe(0);
  clock.advance(2 * DISPLAY_SILENCE_MS);
  expect(told).toBe(1);
  watched.close();
  process.kill(display.record.pid, 'SIGCONT');
});

test('pixmaps of an app beyond 2 GiB are refused, and the server continues', async () => {
  const { display, dirs } = await start(1);
  const { XAUTHORITY } = process.env;
  process.env.XAUTHORITY = dirs.xauthority;
  onTestFinished(() => {
    if (XAUTHORITY === undefined) delete process.env.XAUTHORITY;
    else process.env.XAUTHORITY = XAUTHORITY;
  });
  const app = await XConnection.open(display.name, systemClock, () => undefined);
  onTestFinished(() => app.close());
  // Pixmaps of 1 GiB each. They use no memory until a client draws into them.
  for (let count = 0; count < 4; count++)
    app.client.CreatePixmap(app.client.AllocID(), app.root, 24, 16_384, 16_384);
  await app.settle();
  expect(app.failedRequests).toBe(3);
});
