import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { SizedWebSocket } from './sized-socket.ts';

const server = createServer();
const sockets = new WebSocketServer({ server, WebSocket: SizedWebSocket as unknown as typeof WebSocket });
server.listen(0, '127.0.0.1');
afterAll(() => server.close());

/** What the far end hears of a socket that was opened, said `words` in one turn, and did `then`. */
async function heard(words: string[], then: (socket: WebSocket) => void): Promise<(string | number)[]> {
  sockets.once('connection', (socket) => {
    for (const word of words) socket.send(word);
    then(socket);
  });
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const came: (string | number)[] = [];
  socket.on('message', (data) => came.push(String(data)));
  const [code] = (await once(socket, 'close')) as [number];
  return [...came, code];
}

test('what is said in one turn arrives in order, and before the close', async () => {
  expect(await heard(['a', 'b', 'c'], (socket) => socket.close(4000))).toEqual(['a', 'b', 'c', 4000]);
});

test('and so does what is said in the turns after it', async () => {
  const later = (socket: WebSocket) =>
    setImmediate(() => {
      socket.send('d');
      void Promise.resolve().then(() => {
        socket.send('e');
        socket.close(4000);
      });
    });
  expect(await heard(['a'], later)).toEqual(['a', 'd', 'e', 4000]);
});

test('a socket that is cut in the same turn is gone', async () => {
  expect(await heard(['a'], (socket) => socket.terminate())).toEqual([1006]);
});
