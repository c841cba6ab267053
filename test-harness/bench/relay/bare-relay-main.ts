/**
 * Reference of the relay: a bare ws server that forwards bytes unchanged between the two sockets of a pair. Prints
 * its
 * address; the query of a socket's URL names the pair.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

const waiting = new Map<string, WebSocket>();
const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false, maxPayload: 1_048_576 });

function forward(from: WebSocket, to: WebSocket): void {
  from.on('message', (data) => to.send(data as Buffer, { binary: false }));
  from.on('close', () => to.terminate());
}

sockets.on('connection', (socket, request) => {
  socket.on('error', () => {});
  const pair = request.url ?? '';
  const other = waiting.get(pair);
  if (other === undefined) {
    waiting.set(pair, socket);
    return;
  }
  waiting.delete(pair);
  forward(socket, other);
  forward(other, socket);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
