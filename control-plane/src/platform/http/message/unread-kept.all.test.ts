import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnProcess, startOwnProcess } from '../../../testing/own-process.ts';

const CONNECTIONS = 100;
/** Script of the API reference page: with 1.7 MB the longest answer without an account. */
const LONG = '/docs/swagger-ui-bundle.js';
/** Per connection 64 KiB of the answer and 64 KiB of buffers, and a reserve for the garbage collector. */
const LIMIT_MB = 60;

let folder: string;
let service: OwnProcess;
const opened: TLSSocket[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-unread-'));
  const env = { SERVICE_TLS: 'auto', SERVICE_TLS_ADDR: '127.0.0.1:0', SERVICE_TLS_DIR: join(folder, 'tls') };
  service = await startOwnProcess(folder, { env });
});
afterAll(async () => {
  for (const socket of opened) socket.destroy();
  await service?.end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

function memoryMb(): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** A new connection. */
function open(): TLSSocket {
  const { hostname: host, port } = new URL(service.url);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  socket.on('error', () => undefined);
  opened.push(socket);
  return socket;
}

/** Requests the long answer. Resolves when its first bytes have arrived. */
function begin(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('readable', () => resolve());
    socket.write(`GET ${LONG} HTTP/1.1\r\nHost: a\r\n\r\n`);
  });
}

test('a shared answer that nobody reads over TLS is not copied for each connection', async () => {
  // The first request loads the file.
  await begin(open());
  const sockets = Array.from({ length: CONNECTIONS }, open);
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('secureConnect', resolve))));
  const before = memoryMb();
  await Promise.all(sockets.map(begin));
  expect(memoryMb() - before).toBeLessThan(LIMIT_MB);
});

test('it comes whole to those who read it', async () => {
  const socket = open();
  let bytes = 0;
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    head ||= chunk.toString('latin1');
  });
  socket.write(`GET ${LONG} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  await new Promise((resolve) => socket.once('close', resolve));
  const end = head.indexOf('\r\n\r\n') + 4;
  const [, length] = /content-length: (\d+)/i.exec(head) ?? [];
  expect(Number(length)).toBeGreaterThan(1_000_000);
  expect(bytes - end).toBe(Number(length));
});
