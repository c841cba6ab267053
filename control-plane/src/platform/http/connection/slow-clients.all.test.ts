import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../../testing/index.ts';
import type { Addresses } from './listeners.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const CLIENTS = LONG ? 500 : 20;
/** More than the operating system buffers for a client that does not read. */
const FILE_BYTES = 16 * 1024 * 1024;
/** Long enough that all clients are connected at the same time. */
const LIMIT_MS = LONG ? 10_000 : 1_000;
const LIMITS = {
  headersMs: LIMIT_MS,
  requestMs: 1.5 * LIMIT_MS,
  idleMs: LIMIT_MS,
  handshakeMs: LIMIT_MS,
  checkEveryMs: 100,
};
/**
 * A client is disconnected after two idle periods without traffic; the rest of the time is reserve for a busy machine.
 */
const LET_GO_MS = 12 * LIMIT_MS;
/** Fewer connections than a listener queues, because further ones would wait for a retry of the system. */
const AT_ONCE = 50;
/** Memory that a client may use in the service: pieces being sent and the connection, but not the whole file. */
const READER_BYTES = 1024 * 1024;

let folder: string;
let app: TestApp;
let addresses: Addresses;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-slow-'));
  const web = join(folder, 'web');
  mkdirSync(join(web, 'assets'), { recursive: true });
  writeFileSync(join(web, 'index.html'), '<!doctype html>');
  writeFileSync(join(web, 'assets', 'large.bin'), Buffer.alloc(FILE_BYTES));
  app = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'control.db') },
    {
      env: { SERVICE_WEB_DIR: web, SERVICE_TLS: 'auto' },
      overrides: { clock: systemClock, listenerLimits: { ...LIMITS, connections: 8 * CLIENTS } },
    },
  );
  addresses = await app.plane.listen();
  subscribe(ACCEPTED, onAccepted);
});
afterAll(async () => {
  unsubscribe(ACCEPTED, onAccepted);
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Open connections of the service, and the number of all accepted connections. */
const held = new Set<Socket>();
let taken = 0;
const ACCEPTED = 'net.server.socket';
function onAccepted(message: unknown): void {
  const { socket } = message as { socket: Socket };
  taken += 1;
  held.add(socket);
  socket.once('close', () => held.delete(socket));
}

interface Client {
  socket: Socket;
  connected: Promise<void>;
  closed: Promise<void>;
}

const plainPort = () => Number(new URL(addresses.http).port);
const tlsPort = () => Number(new URL(addresses.https ?? '').port);

function client(socket: Socket, begin: (socket: Socket) => void): Client {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const connected = new Promise<void>((resolve) =>
    socket.once('connect', () => {
      begin(socket);
      resolve();
    }),
  );
  socket.on('error', () => undefined);
  return { socket, connected, closed };
}

const overTls = (): Socket => connectTls({ port: tlsPort(), host: '127.0.0.1', rejectUnauthorized: false });

/** Writes one byte repeatedly, so that the idle limit never applies. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('x'), 200);
  socket.once('close', () => clearInterval(timer));
}

const SLOW_WRITERS: Record<string, () => Client> = {
  'headers that come byte by byte': () =>
    client(connect(plainPort(), '127.0.0.1'), (socket) => {
      socket.write('GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ');
      drip(socket);
    }),
  'a body that comes byte by byte': () =>
    client(connect(plainPort(), '127.0.0.1'), (socket) => {
      socket.write(
        'POST /v1/auth/login HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nContent-Length: 100000\r\n\r\n{',
      );
      drip(socket);
    }),
  'a handshake that never goes on': () => client(connect(tlsPort(), '127.0.0.1'), () => undefined),
};

/** Clients that send a request and then read nothing of the answer. */
const NO_READERS: Record<string, () => Client> = {
  'an answer that nobody takes': () =>
    client(connect(plainPort(), '127.0.0.1'), (socket) => {
      socket.write('GET /assets/large.bin HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n\r\n');
      socket.pause();
    }),
  'an answer over TLS that nobody takes': () =>
    client(overTls(), (socket) => {
      socket.write('GET /assets/large.bin HTTP/1.1\r\nHost: a\r\n\r\n');
      socket.pause();
    }),
};

type Kinds = Record<string, () => Client>;
const named = (kinds: Kinds) => Object.entries(kinds).map(([kind, open]) => ({ kind, ...open() }));

test('crowds of slow clients are let go, and /health answers throughout', {
  timeout: 240_000,
}, async () => {
  const writers: (Client & { kind: string })[] = [];
  const readers: (Client & { kind: string })[] = [];
  const bytesBefore = process.memoryUsage.rss();
  while (readers.length < CLIENTS * Object.keys(NO_READERS).length) {
    const takenBefore = taken;
    const wave = Array.from({ length: Math.min(AT_ONCE, CLIENTS) }, () => [
      named(SLOW_WRITERS),
      named(NO_READERS),
    ]);
    for (const [more = [], others = []] of wave) {
      writers.push(...more);
      readers.push(...others);
    }
    const opened = wave.flat(2);
    await Promise.all(opened.map(({ connected }) => connected));
    // Wait, because the clients run in this process too, and the memory for connecting them must not be counted.
    await expect.poll(() => taken - takenBefore, { timeout: 30_000 }).toBe(opened.length);
  }

  // Wait until all connections are closed, although no client closes its own.
  let bytes = 0;
  const statuses = new Set<number>();
  const leftAfterHealth = async () => {
    const answer = await fetch(`${addresses.http}/health`, { headers: { connection: 'close' } });
    statuses.add(answer.status);
    await answer.arrayBuffer();
    bytes = Math.max(bytes, process.memoryUsage.rss() - bytesBefore);
    return held.size;
  };
  await expect.poll(leftAfterHealth, { timeout: LET_GO_MS }).toBe(0);
  expect([...statuses]).toEqual([200]);
  await Promise.all(writers.map(({ closed }) => closed));
  expect(bytes).toBeLessThan(64 * 1024 * 1024 + readers.length * READER_BYTES);

  // Clients that read now receive only the data that the system has buffered, and never the rest.
  const complete: string[] = [];
  await Promise.all(
    readers.map(async ({ kind, socket, closed }) => {
      let received = 0;
      socket.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      socket.resume();
      await closed;
      if (received >= FILE_BYTES) complete.push(kind);
    }),
  );
  expect(complete).toEqual([]);
});
