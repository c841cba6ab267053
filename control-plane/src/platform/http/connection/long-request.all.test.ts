import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { extendRequest, isExtended } from './long-request.ts';

const LIMIT_MS = 500;

const taken: IncomingMessage[] = [];
const server = createServer(
  { requestTimeout: LIMIT_MS, headersTimeout: LIMIT_MS, connectionsCheckingInterval: 50 },
  (incoming, response) => {
    if (incoming.url === '/long') extendRequest(incoming);
    taken.push(incoming);
    incoming.on('error', () => undefined);
    incoming.resume().once('end', () => response.end('whole'));
  },
);
server.on('clientError', (_error, socket) => {
  if (!isExtended(socket)) socket.end('HTTP/1.1 408 Request Timeout\r\n\r\n');
});
let port = 0;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function put(path: string) {
  const sent = request({ port, host: '127.0.0.1', path, method: 'PUT', headers: { 'content-length': 6 } });
  const status = new Promise<number>((resolve) => {
    sent.once('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    sent.once('error', () => resolve(0));
  });
  sent.write('abc');
  return { sent, status };
}

test('a body that takes longer than a request may is read to its end, where that was asked for', async () => {
  const long = put('/long');
  await expect.poll(() => taken.length).toBe(1);
  const ordinary = put('/ordinary');
  // The check that ended this request has not ended the older exempted one.
  expect(await ordinary.status).toBe(408);
  long.sent.end('def');
  expect(await long.status).toBe(200);
});
