import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '@footlight/platform';
import { expect, onTestFinished, test } from 'vitest';
import { makeSessionDirs, sessionDirs } from '../sessions/resources/record.ts';
import { COOKIE_BYTES, writeCookie } from './cookie.ts';
import { socketMark } from './display-number.ts';
import { startXvfb } from './xvfb.ts';

async function start(dir: string, n: number) {
  const sessionId = `00000000-0000-4000-8000-00000000000${n}`;
  const dirs = sessionDirs(dir, sessionId);
  await makeSessionDirs(dirs, null);
  const cookie = systemRandom.bytes(COOKIE_BYTES);
  await writeCookie(dirs.xauthority, cookie);
  const display = await startXvfb(
    {
      ...{ sessionId, user: null, dirs, enter: [], ended: new AbortController().signal },
      ...{ width: 64, height: 64 },
    },
    cookie,
    { clock: systemClock, random: systemRandom, env: process.env, endNameHolders: async () => undefined },
  );
  onTestFinished(() => display.close());
  return display;
}

test('displays that start at once have different numbers, answer, and leave nothing', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'footlight-xvfb-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const displays = await Promise.all([1, 2].map((n) => start(dir, n)));
  await Promise.all(displays.map((display) => display.answers));
  const numbers = displays.map(({ number }) => number);
  expect(new Set(numbers).size).toBe(2);
  for (const { record } of displays) expect(await socketMark(record.number)).toBe(record.socket);
  await Promise.all(displays.map((display) => display.close()));
  for (const { record } of displays) expect(await socketMark(record.number)).not.toBe(record.socket);
  for (const number of numbers) expect(existsSync(`/tmp/.X${number}-lock`)).toBe(false);
});
