import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../../testing/index.ts';

let folder: string;
let app: TestApp;
let port: number;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-guard-'));
  app = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'control.db') },
    { overrides: { clock: systemClock } },
  );
  port = Number(new URL((await app.plane.listen()).http).port);
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Conversation {
  socket: Socket;
  /** Status lines of the answers so far. */
  answers(): number[];
  isClosed(): boolean;
}

function say(text: string): Conversation {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let closed = false;
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed = true;
  });
  socket.write(text);
  return {
    socket,
    answers: () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)),
    isClosed: () => closed,
  };
}

const HEALTH = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
const chunked = (line: string): string => `${line} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`;

describe('a connection cannot make one turn of the event loop long', () => {
  test('sixteen requests that do not wait for answers are answered', async () => {
    const { socket, answers } = say(HEALTH.repeat(16));
    await expect.poll(answers).toEqual(Array(16).fill(200));
    socket.write(HEALTH.repeat(16));
    await expect.poll(answers).toEqual(Array(32).fill(200));
    socket.destroy();
  });

  test('a thousand of them close it', async () => {
    const { isClosed, answers } = say(HEALTH.repeat(1_000));
    await expect.poll(isClosed).toBe(true);
    expect(answers().length).toBeLessThanOrEqual(16);
  });

  test.each([
    ['that is read', 'POST /v1/auth/login'],
    ['that is refused unread', 'POST /v1/apps'],
    ['that nothing asked for', 'GET /health'],
  ])('a body %s closes it when it comes in chunks of one byte', async (_, line) => {
    const { isClosed } = say(chunked(line) + '1\r\n{\r\n'.repeat(5_000));
    await expect.poll(isClosed).toBe(true);
  });

  test('an endless body that nothing asked for closes it', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const { isClosed } = say(chunked('GET /health') + chunk.repeat(300));
    await expect.poll(isClosed).toBe(true);
  });

  test('a short body in chunks of one byte is read', async () => {
    const body = JSON.stringify({ email: 'a@example.test', password: 'x'.repeat(500) });
    const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`).join('');
    const { socket, answers } = say(`${chunked('POST /v1/auth/login')}${chunks}0\r\n\r\n${HEALTH}`);
    await expect.poll(answers, { timeout: 5_000 }).toEqual([401, 200]);
    socket.destroy();
  });
});
