import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { answer, healthPage, isLoopbackHost, servePage } from './server.ts';

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

const HEALTH = healthPage(() => ({ sessions: 2, connected: false }));

/** Requests the page over a real socket, with this Host header. @returns the status of the answer */
function status(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '/health', headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

test('answers only GET /health', async () => {
  expect(await answer('GET', '/health', 'localhost', HEALTH)).toEqual({
    status: 200,
    contentType: 'application/json',
    text: JSON.stringify({ status: 'ok', sessions: 2, connected: false }),
  });
  expect((await answer('GET', '/', 'localhost', HEALTH)).status).toBe(404);
  expect((await answer('POST', '/health', 'localhost', HEALTH)).status).toBe(405);
  expect((await answer('GET', '/health', 'evil.test', HEALTH)).status).toBe(403);
  expect((await answer('GET', '/health', 'evil.test', { ...HEALTH, loopbackOnly: false })).status).toBe(200);
});

test('a name that resolves here but is not ours gets 403 on the real socket', async () => {
  const server = await servePage('127.0.0.1', 0, HEALTH);
  expect(await status(server.port, 'evil.test')).toBe(403);
  expect(await status(server.port, `127.0.0.1:${server.port}`)).toBe(200);
  await server.close();
});

test('connections that another user keeps open, idle or within a request, do not block others', async () => {
  const server = await servePage('127.0.0.1', 0, HEALTH);
  const idle: Socket[] = [];
  for (let count = 0; count < 200; count++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (count % 2 === 0) socket.write('GET /health HTTP/1.1\r\n');
    idle.push(socket);
  }
  try {
    for (let count = 0; count < 10; count++) expect(await status(server.port, 'localhost')).toBe(200);
  } finally {
    for (const socket of idle) socket.destroy();
    await server.close();
  }
});

test('pipelined requests of one connection get one answer, and other connections are answered meanwhile', async () => {
  let answered = 0;
  const read = () => {
    answered += 1;
    return HEALTH.read();
  };
  const server = await servePage('127.0.0.1', 0, { ...HEALTH, read });
  const socket = connect(server.port, '127.0.0.1').resume();
  socket.on('error', () => undefined);
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100));
  await once(socket, 'close');
  expect(answered).toBe(1);
  await server.close();
});
