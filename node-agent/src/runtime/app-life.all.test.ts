import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeStateDir, startRuntimeApp } from '../testing/runtime-app.ts';
import type { Isolation } from './process.ts';

const USER = { uid: 71_612, gid: 71_612, groups: [] };
const isRoot = process.getuid?.() === 0;

/** Makes the session bus start a service that prints a line and never ends. */
const ACTIVATE_SERVICE = [
  'mkdir -p "$HOME/.local/share/dbus-1/services"',
  'printf "[D-BUS Service]\\nName=test.Lasting\\nExec=/bin/sh -c \\"echo said-by-a-service; sleep 600\\"\\n" >"$HOME/.local/share/dbus-1/services/test.Lasting.service"',
  'dbus-send --session --dest=test.Lasting / test.Lasting.Hello',
  'sleep 0.3',
].join('; ');

describe.each([
  ['isolated', true],
  ['plain', false],
] as const)('an app lives as long as one of its processes (%s)', (_name, isolated) => {
  let stateDir: string;
  const isolation: Isolation = isolated ? 'root' : 'none';
  // With a root agent, only an isolated app has a session bus.
  const user = isolated ? USER : null;

  beforeAll(() => {
    stateDir = makeStateDir();
  });
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

  async function run(script: string) {
    const { app } = await startRuntimeApp({
      stateDir,
      user,
      args: ['/bin/sh', '-c', script],
      options: { isolation },
    });
    const exit = await app.exited;
    const log = app.logTail();
    await app.stop(0);
    return { ...exit, log };
  }

  test.skipIf(isolated && !isRoot)(
    'a launcher that ends with status 0 hands over to the processes that it started',
    async () => {
      expect(await run('(sleep 0.5; echo the game ran) & exit 0')).toEqual({
        status: 0,
        log: 'the game ran',
      });
    },
  );

  test.skipIf(isolated && !isRoot)(
    'a launcher that hands over is reported, and the app does not end',
    async () => {
      const args = ['/bin/sh', '-c', '[ -e /proc/self/fd/3 ] && echo leaked; sleep 600 & exit 0'];
      const { app } = await startRuntimeApp({ stateDir, user, args, options: { isolation } });
      await app.handedOver;
      expect(await Promise.race([app.exited, Promise.resolve('lives')])).toBe('lives');
      expect(app.logTail()).toBe('');
      await app.stop(0);
    },
  );

  test.skipIf(isolated && !isRoot)('what forked away in a session of its own counts as well', async () => {
    const daemon = 'setsid sh -c "setsid sh -c \\"sleep 0.5; echo the daemon ran\\" &" & exit 0';
    expect(await run(daemon)).toEqual({ status: 0, log: 'the daemon ran' });
  });

  test.skipIf(isolated && !isRoot)('a first process that fails ends it at once', async () => {
    expect(await run('sleep 600 & exit 7')).toMatchObject({ status: 7 });
  });

  test.skipIf(isolated && !isRoot)(
    'a service of the session bus does not keep the app alive, and neither writes into its log',
    async () => {
      const script = `${ACTIVATE_SERVICE}; (sleep 0.5; echo the app ran) & exit 0`;
      expect(await run(script)).toEqual({ status: 0, log: 'the app ran' });
    },
  );
});
