import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createTestApp, type TestApp } from '../../../testing/index.ts';
import type { Addresses } from './listeners.ts';

let folder: string;
let app: TestApp;
let addresses: Addresses;
/**
 * A second service with short time limits for clients. It is separate, because on a busy machine complete requests
 * would exceed these limits.
 */
let hurried: TestApp;
let hurriedAddresses: Addresses;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-sockets-'));
  app = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'control.db') },
    {
      env: { SERVICE_TLS: 'auto', SERVICE_TLS_REDIRECT_PORT: '9443' },
      overrides: {
        clock: systemClock,
        listenerLimits: { connections: 60 },
      },
    },
  );
  addresses = await app.plane.listen();
  hurried = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'hurried.db') },
    {
      env: { SERVICE_TLS: 'auto' },
      overrides: {
        clock: systemClock,
        listenerLimits: { headersMs: 300, requestMs: 600, idleMs: 900, handshakeMs: 300, checkEveryMs: 50 },
      },
    },
  );
  hurriedAddresses = await hurried.plane.listen();
});
afterAll(async () => {
  await app.close();
  await hurried.close();
  rmSync(folder, { recursive: true, force: true });
});

const plainPort = ({ http } = addresses) => Number(new URL(http).port);
const tlsPort = ({ https } = addresses) => Number(new URL(https ?? '').port);

/** Everything that a socket receives until it is closed. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.on('error', () => undefined);
  if (!socket.closed) await once(socket, 'close');
  return text;
}

const request = (text: string, service = addresses): Promise<string> => {
  const socket = connect(plainPort(service), '127.0.0.1', () => socket.write(text));
  return untilClosed(socket);
};

describe('both listeners', () => {
  test('serve the same routes; the plain one sends browsers to the other', async () => {
    const moved = await fetch(`${addresses.http}/v1/apps?limit=2`, { redirect: 'manual' });
    expect([moved.status, moved.headers.get('location')]).toEqual([
      308,
      'https://127.0.0.1:9443/v1/apps?limit=2',
    ]);
    const health = await fetch(`${addresses.http}/health`);
    expect(await health.json()).toEqual({ status: 'ok', db: 'ok' });
    const forwarded = await fetch(`${addresses.http}/v1/setup/status`, {
      headers: { 'x-forwarded-proto': 'https' },
    });
    expect(forwarded.status).toBe(200);
    const socket = connectTls({ port: tlsPort(), host: '127.0.0.1', rejectUnauthorized: false }, () =>
      socket.write('GET /v1/setup/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    );
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 200/);
  });

  test('TLS 1.1 and renegotiation are refused', async () => {
    const old = connectTls({
      port: tlsPort(),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    await expect(once(old, 'secureConnect')).rejects.toThrow();
    old.destroy();
    const socket = connectTls({
      port: tlsPort(),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.2',
    });
    await once(socket, 'secureConnect');
    const refused = await new Promise((resolve) => {
      socket.once('error', resolve);
      socket.renegotiate({ rejectUnauthorized: false }, (error) => error && resolve(error));
    });
    expect(refused).toBeInstanceOf(Error);
    socket.destroy();
  });
});

describe('upgrades', () => {
  const refusal = (url: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: { error: { code: string } }; connection: string | undefined }>(
      (resolve, reject) => {
        const socket = new WebSocket(url, { headers, rejectUnauthorized: false });
        socket.on('open', () => reject(new Error('it was opened')));
        socket.on('error', () => undefined);
        socket.on('unexpected-response', (_request, response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              body: JSON.parse(text),
              connection: response.headers.connection,
            }),
          );
        });
      },
    );

  test("other than the agent's on the plain port: 426 https_required and the connection closes", async () => {
    const answer = await refusal(`ws://127.0.0.1:${plainPort()}/v1/signal?token=x`);
    expect([answer.status, answer.body.error.code, answer.connection]).toEqual([
      426,
      'https_required',
      'close',
    ]);
  });

  test("the agent's comes through on the plain port and is asked for its credential", async () => {
    const answer = await refusal(`ws://127.0.0.1:${plainPort()}/agent/ws`);
    expect([answer.status, answer.body.error.code]).toEqual([401, 'unauthorized']);
  });

  test('on a path that takes none: refused in the envelope, never opened', async () => {
    const answer = await refusal(`wss://127.0.0.1:${tlsPort()}/v1/setup/status`);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    const unknown = await refusal(`wss://127.0.0.1:${tlsPort()}/v1/unknown`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'not_found']);
  });

  test('a plain request to a socket address: 400', async () => {
    const socket = connectTls({ port: tlsPort(), host: '127.0.0.1', rejectUnauthorized: false }, () =>
      socket.write('GET /v1/signal?token=x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    );
    const text = await untilClosed(socket);
    expect(text).toMatch(/^HTTP\/1.1 400/);
    expect(text).toContain('validation_failed');
  });
});

describe('slow and broken clients are let go', () => {
  test('headers that never end: 408', async () => {
    const text = await request('GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ', hurriedAddresses);
    expect(text).toMatch(/^HTTP\/1.1 408/);
  });

  test('a body that never ends: the connection is closed', async () => {
    await request(
      'POST /v1/auth/login HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nContent-Length: 100\r\n\r\n{"email":',
      hurriedAddresses,
    );
  });

  test('a TLS handshake that never comes: the connection is closed', async () => {
    await untilClosed(connect(tlsPort(hurriedAddresses), '127.0.0.1'));
  });

  test('a connection that says nothing: it is closed', async () => {
    await untilClosed(connect(plainPort(hurriedAddresses), '127.0.0.1'));
  });

  test('bytes that are no HTTP: 400 in the envelope', async () => {
    const text = await request('\x16\x03\x01 not http\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1.1 400/);
    expect(text).toContain('validation_failed');
  });

  test('headers of 100 kB: 431', async () => {
    const text = await request(`GET /health HTTP/1.1\r\nHost: a\r\nX-Big: ${'x'.repeat(100_000)}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1.1 431/);
  });

  test('more connections than there is room for are closed at once and the others live', async () => {
    const held: Socket[] = [];
    const first = connect(plainPort(), '127.0.0.1');
    await once(first, 'connect');
    for (let index = 0; index < 100; index += 1) {
      const socket = connect(plainPort(), '127.0.0.1');
      socket.on('error', () => undefined);
      held.push(socket);
    }
    first.write('GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(await untilClosed(first)).toContain('"status":"ok"');
    for (const socket of held) socket.destroy();
    await expect
      .poll(async () => (await fetch(`${addresses.http}/health`).catch(() => null))?.status)
      .toBe(200);
  });
});

test('a connection that cannot be taken for want of descriptors ends nothing', async () => {
  // The error that Node emits when even its spare descriptor is used; without a listener it would be thrown.
  const full = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' });
  app.plane.server.fastify.server.emit('error', full);
  expect(app.log.join('')).toContain('http.accept_failed');
  expect((await fetch(`${addresses.http}/health`)).status).toBe(200);
});

test('an address that is taken refuses the boot by the name of its variable', async () => {
  const second = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'second.db') },
    { env: { LISTEN_ADDR: `127.0.0.1:${plainPort()}` } },
  );
  await expect(second.plane.listen()).rejects.toThrow(/LISTEN_ADDR/);
  await second.close();
});

test('the service stops under every behaviour of its clients', async () => {
  const other = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'third.db') },
    { env: { SERVICE_TLS: 'auto' } },
  );
  const { http, https } = await other.plane.listen();
  const port = Number(new URL(http).port);
  const clients = [
    connect(port, '127.0.0.1'),
    connect(Number(new URL(https ?? '').port), '127.0.0.1'),
    connect(port, '127.0.0.1', function (this: Socket) {
      this.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
    }),
    connect(port, '127.0.0.1', function (this: Socket) {
      this.write(
        'POST /v1/auth/login HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nContent-Length: 9\r\n\r\n{',
      );
    }),
  ].map(untilClosed);
  // The answer shows that the service has read the earlier requests.
  expect((await fetch(`${http}/health`)).status).toBe(200);
  await other.close();
  await Promise.all(clients);
});
