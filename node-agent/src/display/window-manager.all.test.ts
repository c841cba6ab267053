import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock, systemRandom } from '@footlight/platform';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import x11, { type XEvent } from 'x11';
import { startTestDisplay, type TestDisplay } from '../media/testing/display.ts';
import { KEY_PRESS } from '../media/testing/test-host.ts';
import type { SessionDirs } from '../runtime/runtime.ts';
import { startHelper } from '../runtime/sandbox.ts';
import { type HelperOptions, WITHOUT_NETWORK } from './helper.ts';
import { startWindowManager, type WindowManager } from './window-manager.ts';
import { XConnection } from './x11/x-connection.ts';
import { XInput } from './x11/x-input.ts';

const FOCUS_IN = 9;
/** evdev codes. */
const [CTRL, ALT, X, Z, C, N, F11] = [29, 56, 45, 44, 46, 49, 87];

const DEPS = { clock: systemClock, random: systemRandom, env: {} };

let directory: string;
let display: TestDisplay;
let manager: WindowManager;
let x: XConnection;

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'window-manager-'));
  // This file is the attack: an app can create it, because it can write to the home of the session's helpers.
  mkdirSync(path.join(directory, '.matchbox'));
  writeFileSync(
    path.join(directory, '.matchbox', 'kbdconfig'),
    `<ctrl><alt>z=!touch ${path.join(directory, 'ran')}\n`,
  );
  display = await startTestDisplay(640, 480);
  x = await XConnection.open(display.name, DEPS.clock, () => undefined);
  manager = await startWindowManager({ ...options(), display: display.name }, DEPS);
});

function options(): HelperOptions {
  const dirs = { home: directory, tmp: directory, run: directory, xauthority: '' } as SessionDirs;
  const ended = new AbortController().signal;
  return { sessionId: 'the-session', user: null, dirs, enter: [], ended };
}

afterAll(async () => {
  await manager?.close();
  x?.close();
  await display?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Opens a window that the window manager shows. @returns the keys that the window receives */
async function openApp(): Promise<number[]> {
  const { client, root } = x;
  const keys: number[] = [];
  const window = client.AllocID();
  client.CreateWindow(window, root, 0, 0, 200, 100, 0, 0, 1, 0, {
    eventMask: x11.eventMask.KeyPress | x11.eventMask.FocusChange,
  });
  const focused = new Promise<void>((resolve) => {
    client.on('event', (event: XEvent) => {
      if (event.type === KEY_PRESS) keys.push((event.keycode ?? 0) - 8);
      else if (event.type === FOCUS_IN) resolve();
    });
  });
  client.ChangeProperty(0, window, client.atoms.WM_NAME, client.atoms.STRING, 8, 'app');
  client.MapWindow(window);
  await focused;
  return keys;
}

// This can happen, because an app that starts together with the display server may be served before the window manager.
test('a window that was mapped before the window manager started fills the screen too', async () => {
  const other = await startTestDisplay(640, 480);
  onTestFinished(() => other.close());
  const connection = await XConnection.open(other.name, DEPS.clock, () => undefined);
  onTestFinished(() => connection.close());
  const { client, root } = connection;
  const window = client.AllocID();
  client.CreateWindow(window, root, 0, 0, 200, 100, 0, 0, 1, 0, {
    eventMask: x11.eventMask.StructureNotify,
  });
  const widths: number[] = [];
  client.on('event', (event: XEvent & { width?: number }) => widths.push(event.width ?? 0));
  client.MapWindow(window);
  await connection.settle();
  const late = await startWindowManager({ ...options(), display: other.name }, DEPS);
  onTestFinished(() => late.close());
  await expect.poll(() => widths).toContain(640);
});

/**
 * Attacks that an exploited window manager could try. Run in a process with the same confinement; prints one line for
 * each attack that succeeds.
 */
const EXPLOIT = `
import os, socket, sys
def tried(what, attempt):
  try: attempt(); print('did', what, flush=True)
  except OSError: pass
tried('reach the loopback of the host', lambda: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2))
tried('reach an abstract socket of the host', lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[2]))
def namespace():
  import ctypes
  libc = ctypes.CDLL(None, use_errno=True)
  if libc.unshare(0x10000000) != 0: raise OSError(ctypes.get_errno())
tried('make a user namespace', namespace)
print('tried', flush=True)
`;

test.runIf(process.getuid?.() === 0)('one that an app took over reaches nothing of the host', async () => {
  const servers = [createServer(), createServer()] as const;
  const abstract = `window-manager-test-${process.pid}`;
  servers[0].listen(0, '127.0.0.1');
  servers[1].listen(`\0${abstract}`);
  await Promise.all(servers.map((server) => once(server, 'listening')));
  onTestFinished(() => void servers.map((server) => server.close()));
  const { port } = servers[0].address() as AddressInfo;
  let said = '';
  const user = { uid: 71_392, gid: 71_392, groups: [] };
  const taken = await startWindowManager(
    { ...options(), user, enter: [...WITHOUT_NETWORK], display: display.name },
    DEPS,
    (who, argv, start, clock) =>
      startHelper(
        who,
        [
          ...argv.slice(0, argv.indexOf('matchbox-window-manager')),
          ...['python3', '-c', EXPLOIT, String(port), abstract],
        ],
        { ...start, clock, onOutput: (chunk) => (said += chunk) },
        clock,
      ),
  );
  onTestFinished(() => taken.close());
  await expect.poll(() => said).toContain('tried');
  expect(said.split('\n').filter((line) => line.startsWith('did'))).toEqual([]);
});

// This matters, because the window manager runs outside the app's isolation: its child processes have the host's
// network and no limits.
test('every key reaches the app, and none makes the window manager run a command', async () => {
  const keys = await openApp();
  // Commands that an app can send to the window manager.
  execFileSync('matchbox-remote', ['-keys-reload'], { env: { ...process.env, DISPLAY: display.name } });
  const input = await XInput.open(x);
  const chords = [[CTRL, ALT, X], [CTRL, ALT, Z], [ALT, N], [ALT, C], [F11]];
  for (const chord of chords) {
    for (const code of chord) input.key(code, true);
    for (const code of chord) input.key(code, false);
  }
  await expect.poll(() => keys).toEqual(chords.flat());
  expect(existsSync(path.join(directory, 'ran'))).toBe(false);
});
