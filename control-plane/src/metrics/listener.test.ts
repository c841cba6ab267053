import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { createLogger } from '@footlight/platform';
import { afterEach, expect, test, vi } from 'vitest';
import { createMetricsListener, type MetricsListener } from './listener.ts';

const TOKEN = 'a-token-of-16-or-more';
let listener: MetricsListener | null = null;
let address = '';
let server: http.Server;
let readings = 0;
const log: string[] = [];

async function open(token: string | null, text = async () => 'footlight_sessions 1\n'): Promise<void> {
  readings = 0;
  log.length = 0;
  const metrics = {
    contentType: 'text/plain; version=0.0.4',
    text: () => {
      readings += 1;
      return text();
    },
  };
  const logger = createLogger('debug', { write: (line) => void log.push(line) });
  const created = vi.spyOn(http, 'createServer');
  listener = createMetricsListener({ listen: { host: '127.0.0.1', port: 0 }, token }, metrics, logger);
  server = created.mock.results[0]?.value as http.Server;
  created.mockRestore();
  address = await listener.listen();
}

const port = (): number => Number(new URL(address).port);

afterEach(async () => {
  await listener?.close();
  listener = null;
});

function ask(
  headers: Record<string, string> = {},
  { method = 'GET', path = '/metrics' } = {},
): Promise<{ status: number; text: string; headers: http.IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, address), { method, headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
    });
    request.on('error', reject).end();
  });
}

test('the page is text that no browser guesses a type for, and no cache keeps', async () => {
  await open(null);
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  expect(await ask()).toMatchObject({
    status: 200,
    text: 'footlight_sessions 1\n',
    headers: {
      'content-type': 'text/plain; version=0.0.4',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
  expect(await ask({}, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
});

test('with a token, nobody without it reads anything, and no reading takes place', async () => {
  await open(TOKEN);
  for (const authorization of [
    '',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(1)}`,
    `Basic ${TOKEN}`,
    'Bearer ',
    TOKEN,
  ]) {
    const answer = await ask(authorization === '' ? {} : { authorization });
    expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(answer.text).not.toContain('footlight_sessions');
  }
  expect(await ask({}, { path: `/metrics?token=${TOKEN}` })).toMatchObject({ status: 401 });
  expect(readings).toBe(0);
  expect(await ask({ authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 200 });
  expect(log.join()).not.toContain(TOKEN);
});

test('without a token, a page of a browser that had its name point at this machine reads nothing', async () => {
  await open(null);
  for (const host of ['evil.example', 'localhost.evil.example:9100', '192.0.2.7'])
    expect(await ask({ host })).toMatchObject({ status: 403 });
  expect(readings).toBe(0);
  for (const host of ['localhost:9100', '127.0.0.1', '[::1]:9100'])
    expect(await ask({ host })).toMatchObject({ status: 200 });
});

test('has one page, and only to read', async () => {
  await open(null);
  expect(await ask({}, { path: '/' })).toMatchObject({ status: 404 });
  expect(await ask({}, { path: '/metrics/x' })).toMatchObject({ status: 404 });
  expect(await ask({}, { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

test('requests that come together share one reading of the database', async () => {
  let finish: (text: string) => void = () => {};
  await open(
    null,
    () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
  );
  let asked = 0;
  server.on('request', () => {
    asked += 1;
  });
  const answers = [ask(), ask(), ask()];
  await expect.poll(() => asked).toBe(3);
  finish('one\n');
  for (const answer of answers) expect(await answer).toMatchObject({ status: 200, text: 'one\n' });
  expect(readings).toBe(1);
});

test('idle connections keep no reader out, and a connection that waits for its answer is not replaced', async () => {
  let finish: (text: string) => void = () => {};
  const first = new Promise<string>((resolve) => {
    finish = resolve;
  });
  await open(null, () => first);
  const early = ask();
  await expect.poll(() => readings).toBe(1);
  const silent = Array.from({ length: 40 }, () => connect(port(), '127.0.0.1').on('error', () => {}));
  await expect.poll(() => silent.filter((socket) => socket.destroyed).length).toBeGreaterThan(20);
  expect(await ask({}, { path: '/' })).toMatchObject({ status: 404 });
  finish('one\n');
  expect(await early).toMatchObject({ status: 200 });
  for (const socket of silent) socket.destroy();
});

test('a connection that asks many times at once is closed, so its answers fill no memory', async () => {
  await open(null);
  const socket = connect(port(), '127.0.0.1');
  let answers = '';
  socket.setEncoding('utf8').on('data', (text) => {
    answers += text;
  });
  socket.on('error', () => {});
  socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1_000));
  await once(socket, 'close');
  expect(answers.match(/200 OK/g)?.length ?? 0).toBeLessThan(20);
});

test('a database that does not answer is reported, and the next reader asks it again', async () => {
  let isDown = true;
  await open(null, async () => {
    if (isDown) throw new Error('connection refused');
    return 'back\n';
  });
  expect(await ask()).toMatchObject({ status: 503 });
  expect(log.join()).toContain('metrics.failed');
  isDown = false;
  expect(await ask()).toMatchObject({ status: 200, text: 'back\n' });
});

test('an address that is taken is named with its variable', async () => {
  await open(null);
  const taken = { host: '127.0.0.1', port: Number(new URL(address).port) };
  const second = createMetricsListener(
    { listen: taken, token: null },
    { contentType: '', text: async () => '' },
    createLogger('silent'),
  );
  await expect(second.listen()).rejects.toThrow(/another program has it \(SERVICE_METRICS_ADDR\)$/);
});

test('connections that cannot be accepted for want of descriptors end nothing', async () => {
  await open(null);
  const error = Object.assign(new Error('accept EMFILE'), { syscall: 'accept', code: 'EMFILE' });
  server.emit('error', error);
  server.emit('error', error);
  expect(log.join()).toContain('EMFILE');
  expect(await ask()).toMatchObject({ status: 200 });
});
