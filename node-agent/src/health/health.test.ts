import { request } from 'node:http';
import { expect, test } from 'vitest';
import { answer, isLoopbackHost, serveHealth } from './server.ts';

test.each([
  ['127.0.0.1:9091', true],
  ['127.8.9.1', true],
  ['localhost', true],
  ['LOCALHOST:9091', true],
  ['[::1]:9091', true],
  ['[::ffff:127.0.0.1]', true],
  ['evil.test', false],
  ['localhost.evil.test', false],
  ['10.0.0.1:9091', false],
  ['127.0.0.1.evil.test', false],
  ['', false],
])('Host %s is loopback: %s', (host, loopback) => {
  expect(isLoopbackHost(host)).toBe(loopback);
});

const HEALTH = () => ({ sessions: 2, connected: false });

test('answers only GET /health', () => {
  expect(answer('GET', '/health', 'localhost', HEALTH)).toEqual([
    200,
    { status: 'ok', sessions: 2, connected: false },
  ]);
  expect(answer('GET', '/', 'localhost', HEALTH)[0]).toBe(404);
  expect(answer('POST', '/health', 'localhost', HEALTH)[0]).toBe(405);
  expect(answer('GET', '/health', 'evil.test', HEALTH)[0]).toBe(403);
});

test('a name that resolves here but is not ours gets 403 on the real socket', async () => {
  const server = await serveHealth('127.0.0.1', 0, HEALTH);
  const status = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ port: server.port, host: '127.0.0.1', path: '/health', headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
  expect(await status('evil.test')).toBe(403);
  expect(await status(`127.0.0.1:${server.port}`)).toBe(200);
  await server.close();
});
