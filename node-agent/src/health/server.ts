import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { errorText } from '@footlight/platform';
import ipaddr from 'ipaddr.js';
import { isLoopback } from '../config/environment.ts';

/**
 * Largest number of open connections; a further connection closes the oldest. Any user of the machine can keep
 * connections open, and systemd or another supervisor kills an agent whose health page does not answer.
 */
const MAX_CONNECTIONS = 64;
/** Connections that may wait to be accepted: the default limit of Linux (net.core.somaxconn). */
const BACKLOG = 4_096;

export interface Health {
  /** Number of live sessions. */
  sessions: number;
  connected: boolean;
}

/** A page served at one path. */
export interface Page {
  path: string;
  contentType: string;
  /**
   * Whether the Host header of a request must name a loopback address. A request of a web site whose name resolves to
   * this machine is therefore answered with 403.
   */
  loopbackOnly: boolean;
  /** Called only if the answer is 200. */
  read(): string | Promise<string>;
}

/** The page GET /health. */
export const healthPage = (read: () => Health): Page => ({
  path: '/health',
  contentType: 'application/json',
  loopbackOnly: true,
  read: () => JSON.stringify({ status: 'ok', ...read() }),
});

/**
 * Serves one page.
 * @throws when the address is taken
 */
export async function servePage(host: string, port: number, page: Page): Promise<PageServer> {
  const asked = new WeakSet<Socket>();
  const server = createServer({ maxHeaderSize: 8 * 1024, requestTimeout: 5_000 }, (request, response) => {
    // One answer per connection, so that a client with pipelined requests cannot delay other clients.
    if (asked.has(request.socket)) return;
    asked.add(request.socket);
    void answer(request.method ?? '', request.url ?? '', request.headers.host ?? '', page).then(
      ({ status, contentType, text }) => {
        response.writeHead(status, {
          connection: 'close',
          'content-type': contentType,
          'content-length': Buffer.byteLength(text),
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
        });
        response.end(request.method === 'HEAD' ? undefined : text);
      },
    );
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
  return new PageServer(server);
}

/**
 * Serves a page on its address: listening -> closed. close() also ends unfinished requests. Owner: the agent, which
 * closes it last.
 */
export class PageServer {
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

/** Answers one request. Never throws. */
export async function answer(
  method: string,
  url: string,
  host: string,
  page: Page,
): Promise<{ status: number; contentType: string; text: string }> {
  const refused = (status: number, code: string, message: string) => ({
    ...{ status, contentType: 'application/json' },
    text: JSON.stringify({ error: { code, message } }),
  });
  if (page.loopbackOnly && !isLoopbackHost(host)) return refused(403, 'forbidden', 'not a loopback host');
  if (url.split('?')[0] !== page.path) return refused(404, 'not_found', `the page is ${page.path}`);
  if (method !== 'GET' && method !== 'HEAD')
    return refused(405, 'method_not_allowed', 'only GET is answered');
  try {
    return { status: 200, contentType: page.contentType, text: await page.read() };
  } catch (error) {
    return refused(500, 'internal', errorText(error));
  }
}

/** Whether a Host header names this machine's loopback, with an optional port. */
export function isLoopbackHost(host: string): boolean {
  const name = /^(?:\[([0-9a-f:.]+)\]|([^:]+))(?::\d{1,5})?$/i.exec(host);
  const address = (name?.[1] ?? name?.[2] ?? '').toLowerCase();
  return address === 'localhost' || (ipaddr.isValid(address) && isLoopback(address));
}
