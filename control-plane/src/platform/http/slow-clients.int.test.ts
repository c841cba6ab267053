import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../testing/index.ts';
import { systemClock } from '../clock.ts';
import type { Addresses } from './listeners.ts';

const CLIENTS = process.env.FOOTLIGHT_LONG === '1' ? 500 : 20;
/** More than the system keeps for a reader that does not read. */
const FILE_BYTES = 16 * 1024 * 1024;
const LIMITS = { headersMs: 1_000, requestMs: 1_500, idleMs: 1_000, handshakeMs: 1_000, checkEveryMs: 100 };
/** A reader is let go once two idle periods brought nothing; the rest is slack for a busy machine. */
const LET_GO_MS = 6_000;

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
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

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

/** Writes one byte now and then, which no idle limit ever notices. */
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

/** Take not one byte of what they asked for. */
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

const crowd = (kinds: Record<string, () => Client>) =>
  Object.entries(kinds).flatMap(([kind, open]) =>
    Array.from({ length: CLIENTS }, () => ({ kind, ...open() })),
  );

test('crowds of slow clients are let go, and /health answers within a second throughout', {
  timeout: 120_000,
}, async () => {
  const writers = crowd(SLOW_WRITERS);
  const readers = crowd(NO_READERS);
  const stays = new Map(Object.keys(SLOW_WRITERS).map((kind) => [kind, CLIENTS]));
  for (const { kind, closed } of writers) void closed.then(() => stays.set(kind, (stays.get(kind) ?? 0) - 1));
  // The clients live in this process too: what their connecting costs is not the service's doing.
  await Promise.all([...writers, ...readers].map(({ connected }) => connected));
  const tookMs: number[] = [];
  const until = performance.now() + LET_GO_MS;
  while (performance.now() < until) {
    const startedMs = performance.now();
    const answer = await fetch(`${addresses.http}/health`, { headers: { connection: 'close' } });
    tookMs.push(performance.now() - startedMs);
    expect(answer.status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Readers that wake up now find what the system had kept, and that the rest will never come.
  const complete: string[] = [];
  await Promise.all(
    readers.map(async ({ kind, socket, closed }) => {
      let bytes = 0;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes < FILE_BYTES) return;
        complete.push(kind);
        socket.destroy();
      });
      socket.resume();
      await closed;
    }),
  );
  for (const { socket } of writers) socket.destroy();
  expect(Object.fromEntries(stays)).toEqual(
    Object.fromEntries(Object.keys(SLOW_WRITERS).map((kind) => [kind, 0])),
  );
  expect(complete).toEqual([]);
  // A busy machine may be late now and then; clients that hold something up hold up everything.
  const typicalMs = tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length * 0.9)];
  expect(typicalMs).toBeLessThan(1_000);
});
