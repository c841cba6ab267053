import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { systemRandom } from '../platform/random.ts';
import { makeSessionDirs, sessionDirs } from '../sessions/record.ts';
import { COOKIE_BYTES, writeCookie } from './cookie.ts';
import { socketInode, startXvfb } from './xvfb.ts';

test('displays of one user started at once have numbers and sockets of their own, and leave nothing', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'footlight-xvfb-'));
  const ended = new AbortController();
  const start = async (sessionId: string) => {
    const dirs = sessionDirs(dir, sessionId);
    await makeSessionDirs(dirs, null);
    const options = { sessionId, user: null, dirs, ended: ended.signal, width: 64, height: 64 };
    const cookie = systemRandom.bytes(COOKIE_BYTES);
    await writeCookie(dirs.xauthority, cookie);
    return startXvfb(options, cookie, { clock: systemClock, random: systemRandom, env: process.env });
  };
  const ids = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
  const displays = await Promise.all(ids.map(start));
  try {
    expect(new Set(displays.map(({ number }) => number)).size).toBe(displays.length);
    for (const { record } of displays) expect(socketInode(record.number)).toBe(record.socket_inode);
  } finally {
    await Promise.all(displays.map((display) => display.close()));
    rmSync(dir, { recursive: true, force: true });
  }
  for (const { number } of displays) expect(existsSync(`/tmp/.X${number}-lock`)).toBe(false);
});
