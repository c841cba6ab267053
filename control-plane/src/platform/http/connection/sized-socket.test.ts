import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { SizedWebSocket } from './sized-socket.ts';

const server = createServer();
const sockets = new WebSocketServer({ server, WebSocket: SizedWebSocket as unknown as typeof WebSocket });
server.listen(0, '127.0.0.1');
afterAll(() => server.close());

/**
 * Messages that the peer receives from a socket that sends `words` in one turn and then runs `then`.
 * @param says what the peer does when it is open
 */
async function heard(
  words: string[],
  then: (socket: WebSocket) => void,
  says: (socket: WebSocket, connection: Socket) => void = () => undefined,
): Promise<(string | number)[]> {
  sockets.once('connection', (socket) => {
    for (const word of words) socket.send(word);
    then(socket);
  });
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const came: (string | number)[] = [];
  socket.on('message', (data) => came.push(String(data)));
  socket.on('error', () => undefined);
  socket.once('upgrade', ({ socket: connection }) => socket.once('open', () => says(socket, connection)));
  const [code] = (await once(socket, 'close')) as [number];
  return [...came, code];
}

test('messages of one turn arrive in order, and before the close', async () => {
  expect(await heard(['a', 'b', 'c'], (socket) => socket.close(4000))).toEqual(['a', 'b', 'c', 4000]);
});

test('messages of later turns arrive in order as well', async () => {
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

test('a flood of pongs cuts the socket; as many as pile up during a short delay do not', async () => {
  /** A masked empty pong. The library does not answer or count it. */
  const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
  const saysAfter = (pongs: number) =>
    heard(
      [],
      (socket) => socket.on('message', () => socket.close(4000)),
      (socket, connection) => {
        connection.write(Buffer.concat(Array.from({ length: pongs }, () => pong)));
        socket.send('still there');
      },
    );
  expect(await saysAfter(20)).toEqual([4000]);
  expect(await saysAfter(5_000)).toEqual([1006]);
});

test.each([
  ['in one turn cuts it', 8_000, 8_000, 1006],
  ['over many turns closes it', 8_000, 1_000, 1008],
  ['of a slow network does not', 900, 100, 4000],
])('a message that comes byte by byte, as TLS records can, %s', async (_what, bytes, atOnce, code) => {
  const frame = Buffer.alloc(8 + bytes);
  frame.set([0x81, 0xfe]);
  frame.writeUInt16BE(bytes, 2);
  sockets.once('connection', (_socket, { socket: connection }) => {
    const carry = (from: number) => {
      for (let at = from; at < Math.min(from + atOnce, frame.length); at += 1)
        connection.emit('data', frame.subarray(at, at + 1));
      if (from < frame.length) setImmediate(carry, from + atOnce);
    };
    setImmediate(carry, 0);
  });
  const closing = (socket: WebSocket) =>
    socket.on('error', () => undefined).on('message', () => socket.close(4000));
  expect(await heard([], closing)).toEqual([code]);
});
