import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Open connections. The oldest goes for a newer one: every user of the machine can keep connections open, and a
 * supervisor ends an agent that does not answer.
 */
const MAX_CONNECTIONS = 64;
/** Connections that wait to be accepted: as many as Linux allows (net.core.somaxconn). */
const BACKLOG = 4_096;

export interface Health {
  /** Live sessions (count). */
  sessions: number;
  connected: boolean;
}

/**
 * Serves GET /health on a loopback address.
 *
 * Answers only a Host header of localhost or a loopback address: a page of a site whose name resolves to this machine
 * gets 403.
 * @throws when the address is taken
 */
export async function serveHealth(host: string, port: number, read: () => Health): Promise<HealthServer> {
  const server = createServer({ maxHeaderSize: 8 * 1024, requestTimeout: 5_000 }, (request, response) => {
    // One answer a connection: what waits behind it must not keep others waiting.
    if (request.socket.bytesWritten > 0) return;
    const [status, body] = answer(request.method ?? '', request.url ?? '', request.headers.host ?? '', read);
    const text = JSON.stringify(body);
    response.writeHead(status, {
      connection: 'close',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  });
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    const [oldest] = connections;
    if (connections.size > MAX_CONNECTIONS) oldest?.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  return new HealthServer(server);
}

/**
 * The health page on a local address. listening → closed; close() cuts open requests. Owner: the agent, which closes it
 * last.
 */
export class HealthServer {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Status and body of one request. @param read called for an answer of 200 only */
export function answer(
  method: string,
  url: string,
  host: string,
  read: () => Health,
): [number, Record<string, unknown>] {
  if (!isLoopbackHost(host)) return [403, { error: { code: 'forbidden', message: 'not a loopback host' } }];
  if (url.split('?')[0] !== '/health') return [404, { error: { code: 'not_found', message: 'not found' } }];
  if (method !== 'GET' && method !== 'HEAD') {
    return [405, { error: { code: 'method_not_allowed', message: 'only GET is answered' } }];
  }
  return [200, { status: 'ok', ...read() }];
}

/** Whether a Host header names this machine's loopback, with an optional port. */
export function isLoopbackHost(host: string): boolean {
  const name = /^(?:\[([0-9a-f:.]+)\]|([^:]+))(?::\d{1,5})?$/i.exec(host);
  const address = (name?.[1] ?? name?.[2] ?? '').toLowerCase();
  if (address === 'localhost') return true;
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}
