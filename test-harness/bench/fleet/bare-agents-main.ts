/**
 * The reference of the agent benches: a bare ws server that parses every frame, sends the answers that each agent waits
 * for, and stores nothing. Prints its address.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const BACKLOG = 4_096;

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false, maxPayload: 1_048_576 });
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data) => {
    const message = JSON.parse((data as Buffer).toString('utf8')) as {
      type: string;
      ts: number;
      seq: number;
    };
    if (message.type === 'register') {
      socket.send(
        JSON.stringify({
          type: 'registered',
          protocol: 1,
          host_id: randomUUID(),
          heartbeat_interval_ms: 5_000,
          session_grace_secs: 600,
          server_ts: Date.now(),
          last_seq: null,
        }),
      );
      socket.send(
        JSON.stringify({ type: 'config_update', id: randomUUID(), settings: {}, console_config: null }),
      );
    }
    if (message.type === 'heartbeat')
      socket.send(JSON.stringify({ type: 'heartbeat_ack', echo: message.ts, server_ts: Date.now() }));
    if (message.type === 'session_state') socket.send(JSON.stringify({ type: 'seen', seq: message.seq }));
  });
});
server.listen(0, '127.0.0.1', BACKLOG, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
