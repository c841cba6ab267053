import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock, systemRandom } from '@footlight/platform';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { COOKIE_BYTES, writeCookie } from '../display/cookie.ts';
import { XConnection } from '../display/x11/x-connection.ts';
import { XScreenSize } from '../display/x11/x-screen.ts';
import { holdAbstractName } from '../linux/unix-names.ts';
import { removeLeftovers } from '../sessions/resources/leftovers.ts';
import { Quarantine } from '../sessions/resources/quarantine.ts';
import { makeSessionDirs, sessionDirs, writeRecord } from '../sessions/resources/record.ts';
import { UidPool } from '../sessions/resources/uid-pool.ts';
import { UidSweep } from '../sessions/resources/uid-sweep.ts';
import { processesOf } from '../testing/traces.ts';
import { type Canvas, westonScreens } from './weston.ts';

const SESSION = '00000000-0000-4000-8000-0000000000c0';
/** Uid of a former session's user; no process of this user is left. */
const FORMER_UID = 71_096;
const OUTPUT = { card: 'card1', connector: 'headless', mode: null, others: [] };
const hasWeston = ['/usr/bin/weston', '/usr/bin/Xwayland'].every((path) => existsSync(path));

// Weston's headless backend replaces the connector; all other parts are the same as on hosts.
describe.runIf(hasWeston)('weston as the display beside a host', () => {
  const canvas = (...words: string[]): Canvas => ({
    words: () => words,
    readsDevices: false,
    reclaim: () => {
      reclaimed += 1;
    },
  });
  const screens = westonScreens(canvas('--backend=headless-backend.so', '--width=1024', '--height=768'));
  let reclaimed: number;
  let stateDir: string;
  beforeEach(async () => {
    reclaimed = 0;
    stateDir = await mkdtemp(join(tmpdir(), 'footlight-weston-'));
    await chmod(stateDir, 0o711);
  });
  afterEach(async () => {
    expect(processesOf(SESSION)).toEqual([]);
    await rm(stateDir, { recursive: true, force: true });
    delete process.env.XAUTHORITY;
  });

  async function open(with_ = screens) {
    const dirs = sessionDirs(stateDir, SESSION);
    await makeSessionDirs(dirs, null);
    const cookie = systemRandom.bytes(COOKIE_BYTES);
    await writeCookie(dirs.xauthority, cookie);
    process.env.XAUTHORITY = dirs.xauthority;
    const { signal } = new AbortController();
    const options = { sessionId: SESSION, user: null, dirs, enter: [], ended: signal };
    return with_.open(OUTPUT, options, cookie, {
      clock: systemClock,
      random: systemRandom,
      env: process.env,
    });
  }

  const consoleFiles = () => readdir(sessionDirs(stateDir, SESSION).console);

  test('an X display fills the output, and leaves nothing after its end', async () => {
    const display = await open();
    const x = await XConnection.open(display.name, systemClock, () => undefined);
    expect(await (await XScreenSize.open(x)).size()).toEqual({ width: 1024, height: 768 });
    x.close();
    // The name is reserved: Xwayland does not listen on it, but libxcb would connect to any program that does.
    expect(holdAbstractName(display.socket)).toBe(null);
    await display.close();
    expect(existsSync(display.socket)).toBe(false);
    const free = holdAbstractName(display.socket);
    expect(free).not.toBe(null);
    free?.release();
    expect(reclaimed).toBe(0);
  });

  test.each([
    ['weston', 1],
    ['Xwayland', 0],
  ])('the display ends when %s ends', async (name, reclaims) => {
    const display = await open();
    const found = processesOf(SESSION).find(({ command }) => command.startsWith(name));
    process.kill(found?.pid ?? Number.NaN, 'SIGKILL');
    await display.exited;
    await display.close();
    // The agent restores the terminal only if weston was killed; otherwise weston restores it at its exit.
    expect(reclaimed).toBe(reclaims);
  });

  test('only Xwayland ever connects to weston', async () => {
    const display = await open();
    expect(await consoleFiles()).toEqual(['wayland.lock', 'weston.ini']);
    await display.close();
  });

  test('after a killed agent, the next start finds and removes everything', async () => {
    const display = await open();
    const dirs = sessionDirs(stateDir, SESSION);
    await writeRecord(dirs, { session_id: SESSION, uid: FORMER_UID, home: null, display: display.record });
    const deps = { clock: systemClock, logger: silentLogger() };
    await removeLeftovers(stateDir, {
      ...deps,
      quarantine: new Quarantine(deps),
      sweep: new UidSweep({ ...deps, openToAll: [] }),
      uids: new UidPool([FORMER_UID, FORMER_UID]),
      take: () => () => undefined,
      reclaimConsole: () => screens.reclaim(),
    });
    expect([processesOf(SESSION), existsSync(display.socket)]).toEqual([[], false]);
    // Polled, because the record is removed only after the search for the user's files.
    await expect.poll(() => existsSync(dirs.root)).toBe(false);
    expect(reclaimed).toBe(1);
  });

  test('if weston cannot draw, its message is the reason of the failure', async () => {
    const broken = westonScreens(canvas('--backend=drm-backend.so', '--drm-device=card99'));
    await expect(open(broken)).rejects.toThrow(/^weston did not start: .*drm/s);
    expect(await consoleFiles()).toEqual(['weston.ini']);
    expect(reclaimed).toBe(0);
  });
});
