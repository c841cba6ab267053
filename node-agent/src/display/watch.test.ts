import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { expect, onTestFinished, test } from 'vitest';
import { DisplayWatch } from './watch.ts';

/** More bytes than a socket's buffers can store. */
const FLOOD = randomBytes(4 * 1024 * 1024);

test('a display server that floods its answers is read at a limited rate, and waits', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'footlight-watch-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  let settle: (outcome: 'taken' | 'paused') => void = () => undefined;
  const outcome = new Promise<'taken' | 'paused'>((resolve) => {
    settle = resolve;
  });
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write(FLOOD, () => settle('taken'));
  });
  const path = join(dir, 'X0');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  // A clock that does not advance, so the pause between two reads never ends.
  const setTimeout = () => {
    settle('paused');
    return { cancel: () => undefined };
  };
  const watch = new DisplayWatch(path, Buffer.alloc(16), { ...systemClock, setTimeout }, () => undefined);
  onTestFinished(() => {
    watch.close();
    server.close();
  });
  expect(await outcome).toBe('paused');
});
