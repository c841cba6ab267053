import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, pipeline } from 'node:stream';
import { systemClock } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { png } from '../../../artwork/testing/pictures.ts';
import { createTestApp, type TestApp } from '../../../testing/index.ts';
import { guardConnections } from './connection-guard.ts';

let folder: string;
let app: TestApp;
let port: number;
/** Path of a stored picture. */
let picture: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-guard-'));
  app = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'control.db') },
    { env: { SERVICE_WEB_DIR: webDir() }, overrides: { clock: systemClock } },
  );
  port = Number(new URL((await app.plane.listen()).http).port);
  const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Sample Quest' } });
  const upload = `/v1/admin/apps/${made.body.app.id}/artwork/upload`;
  const headers = { 'content-type': 'image/png' };
  const stored = await app.call(app.people.admin, 'POST', upload, { body: png(600, 900), headers });
  picture = stored.body.artwork.tile_url;
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A built web app with a file that is too long for the buffers of an unread connection. */
function webDir(): string {
  const web = join(folder, 'web');
  mkdirSync(join(web, 'assets'), { recursive: true });
  writeFileSync(join(web, 'index.html'), '<!doctype html>');
  writeFileSync(join(web, 'assets', 'long.js'), ' '.repeat(16 * 1024 * 1024));
  return web;
}

/** Number of open files of this process whose paths contain the given text. */
function openFiles(part = '/assets/long.js'): number {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).includes(part);
    } catch {
      // It is the descriptor of the directory itself, or was closed in the meantime.
      return false;
    }
  }).length;
}

interface Conversation {
  socket: Socket;
  /** Statuses of the answers that have arrived. */
  answers(): number[];
  isClosed(): boolean;
}

function say(text: string, server?: Server): Conversation {
  const socket = connect(server === undefined ? port : (server.address() as AddressInfo).port, '127.0.0.1');
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

  test('unread answers to requests for files hold one of them open, until the client goes away', async () => {
    const { socket } = say('GET /assets/long.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(16));
    socket.pause();
    await expect.poll(openFiles).toBe(1);
    // The answer to a later request shows that the sixteen requests were read.
    const { answers } = say(HEALTH);
    await expect.poll(answers).toEqual([200]);
    expect(openFiles()).toBe(1);
    socket.destroy();
    await expect.poll(openFiles).toBe(0);
  });

  test('requests for files whose clients leave at once leave no file open', async () => {
    const requests = `GET ${picture} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(5);
    for (let round = 0; round < 20; round += 1) {
      const clients = Array.from({ length: 10 }, () => say(requests).socket);
      // Some clients disconnect while their requests are being answered.
      const [first] = clients;
      await once(first as Socket, 'data');
      for (const client of clients) client.destroy();
    }
    const { answers } = say(HEALTH);
    await expect.poll(answers).toEqual([200]);
    await expect.poll(() => openFiles('/artwork/')).toBe(0);
  });

  test('requests that wait with more than 16 KiB of headers close it', async () => {
    const header = `X-Long: ${'a'.repeat(8_000)}\r\n`;
    const request = `GET /health HTTP/1.1\r\nHost: a\r\n${header}\r\n`;
    const few = say(request.repeat(3));
    await expect.poll(few.answers).toEqual([200, 200, 200]);
    few.socket.destroy();
    const { isClosed, answers } = say(request.repeat(4));
    await expect.poll(isClosed).toBe(true);
    expect(answers()).toEqual([]);
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
    await expect.poll(answers).toEqual([401, 200]);
    socket.destroy();
  });

  test('a long body that nothing asked for does not cost the client its answer', async () => {
    const { socket, answers } = say('POST /v1/apps HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n');
    socket.write('x'.repeat(4_000_000));
    socket.write(HEALTH);
    await expect.poll(answers).toEqual([401, 200]);
    socket.destroy();
  });
});

test('a client that disconnects from an interrupted pipeline does no harm', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = say('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of it', server);
  await new Promise<void>((closed) => {
    server.on(
      'request',
      guardConnections((request, response) => {
        // An exception in an earlier listener of this event would fail the run.
        response.on('close', closed);
        const sink = new PassThrough();
        pipeline(request, sink, () => client.socket.destroy());
        request.once('data', () => sink.destroy());
      }),
    );
  });
  server.close();
});
