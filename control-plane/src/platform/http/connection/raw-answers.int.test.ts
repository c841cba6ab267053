import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@footlight/platform';
import { errorEnvelope } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../../testing/index.ts';
import { BARE_SECURITY_HEADERS } from '../message/security-headers.ts';
import type { Addresses } from './listeners.ts';

let folder: string;
let app: TestApp;
let addresses: Addresses;
/**
 * A second service with a short time limit for headers. It is separate, because on a busy machine the other requests
 * would exceed this limit.
 */
let hurried: TestApp;
let hurriedAddresses: Addresses;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-raw-'));
  app = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'control.db') },
    {
      env: { SERVICE_TLS: 'auto' },
      overrides: { clock: systemClock },
    },
  );
  addresses = await app.plane.listen();
  hurried = await createTestApp(
    { dialect: 'sqlite', file: join(folder, 'hurried.db') },
    {
      env: { SERVICE_TLS: 'auto' },
      overrides: { clock: systemClock, listenerLimits: { headersMs: 300, checkEveryMs: 50 } },
    },
  );
  hurriedAddresses = await hurried.plane.listen();
});
afterAll(async () => {
  await app.close();
  await hurried.close();
  rmSync(folder, { recursive: true, force: true });
});

interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** Writes the text unchanged, and reads the first answer until the server closes the connection. */
function send(text: string, overTls: boolean, { http, https } = addresses): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const port = Number(new URL((overTls ? https : http) ?? '').port);
    const socket = overTls
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect(port, '127.0.0.1');
    let answer = '';
    socket.on('error', reject);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('close', () => {
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      const [first = '', ...lines] = head.split('\r\n');
      const headers = new Map(
        lines.map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
        }),
      );
      resolve({ status: Number(first.split(' ')[1]), headers, body });
    });
    socket.write(text);
  });
}

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const CLOSE = 'Connection: close\r\n';

describe.each([
  ['the plain listener', false],
  ['the TLS listener', true],
])('%s', (_, overTls) => {
  test.each([
    ['something that is no HTTP', 'nonsense\r\n\r\n', 400],
    ['a header with a control character', 'GET /health HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n', 400],
    [
      'a length and a chunked body at once',
      'POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['headers that are too long', `GET /health HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['headers that do not end', 'GET /health HTTP/1.1\r\nHost: a\r\n', 408],
    ['no Host', `GET /health HTTP/1.1\r\n${CLOSE}\r\n`, 400],
    ['two Hosts', `GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n${CLOSE}\r\n`, 400],
    ['two Hosts that say the same', `GET /v1/me HTTP/1.1\r\nHost: a\r\nhost: a\r\n${CLOSE}\r\n`, 400],
    ['two Hosts for a page', `GET /login HTTP/1.1\r\nHost: a\r\nHost: b\r\n${CLOSE}\r\n`, 400],
    ['two Hosts of an agent', `GET /agent/ws HTTP/1.1\r\nHost: a\r\nHost: b\r\n${UPGRADE}\r\n`, 400],
    ['two Hosts of a viewer', `GET /v1/signal HTTP/1.1\r\nHost: a\r\nHost: b\r\n${UPGRADE}\r\n`, 400],
  ])('answers %s with the envelope and the headers of every answer', async (_case, text, status) => {
    const answer = await send(text, overTls, status === 408 ? hurriedAddresses : addresses);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.body)));
    expect(errorEnvelope.safeParse(JSON.parse(answer.body)).success).toBe(true);
    for (const name of Object.keys(BARE_SECURITY_HEADERS)) expect([...answer.headers.keys()]).toContain(name);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('a request with an unknown Expect header is served like any other', async () => {
    const text = `GET /health HTTP/1.1\r\nHost: a\r\nExpect: more\r\n${CLOSE}\r\n`;
    const answer = await send(text, overTls);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('one Host is enough, and HTTP/1.0 needs none', async () => {
    expect((await send(`GET /health HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`, overTls)).status).toBe(200);
    expect((await send('GET /health HTTP/1.0\r\n\r\n', overTls)).status).toBe(200);
  });
});
