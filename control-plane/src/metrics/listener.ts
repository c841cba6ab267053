import http from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '@footlight/platform';
import { SECOND_MS } from '@footlight/platform';
import type { Config } from '../platform/config/config.ts';
import { sameDigest, sha256Hex } from '../platform/digest.ts';
import { bind, surviveFailedAccepts } from '../platform/http/connection/bind.ts';
import { guardConnections } from '../platform/http/connection/connection-guard.ts';
import { bearerToken } from '../platform/http/message/request.ts';
import { isLoopbackHost } from '../platform/http/origin/origins.ts';
import type { Metrics } from './metrics.ts';

const LIMIT_MS = 5 * SECOND_MS;
/**
 * Enough for two Prometheus servers and a person. A further connection replaces the oldest connection on which no
 * request is being answered.
 */
const MAX_CONNECTIONS = 16;
const PATH = '/metrics';

/** Serves the metrics, on a listener of its own, so that no browser and no agent can reach them. */
export interface MetricsListener {
  /** @returns the address @throws with the variable's name when the address cannot be bound */
  listen(): Promise<string>;
  close(): Promise<void>;
}

/** The host from a request's Host header, without the port. */
const hostOf = ({ headers }: http.IncomingMessage): string => (headers.host ?? '').replace(/:\d+$/, '');

export function createMetricsListener(
  { listen, token }: NonNullable<Config['metrics']>,
  metrics: Pick<Metrics, 'text' | 'contentType'>,
  logger: Logger,
): MetricsListener {
  const digest = token === null ? null : sha256Hex(token);
  /** Open connections, the oldest first. true: an authorized request on the connection is being answered. */
  const open = new Map<Socket, boolean>();
  /** Concurrent requests share one read of the database. */
  let reading: Promise<string> | null = null;

  function read(): Promise<string> {
    reading ??= metrics.text().finally(() => {
      reading = null;
    });
    return reading;
  }

  function mayRead({ headers }: http.IncomingMessage): boolean {
    if (digest === null) return true;
    return sameDigest(sha256Hex(bearerToken(headers.authorization) ?? ''), digest);
  }

  async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const end = (status: number, text: string, headers: Record<string, string> = {}) => {
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        ...headers,
      });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    if (!mayRead(request))
      return end(401, 'Send the token of SERVICE_METRICS_TOKEN as a bearer.\n', {
        'www-authenticate': 'Bearer',
      });
    // Prevents DNS rebinding: the host name of a foreign page may resolve to this address. A client with the token
    // cannot be such a page.
    if (digest === null && !isLoopbackHost(hostOf(request)))
      return end(403, 'Ask for this page by a loopback address, or set SERVICE_METRICS_TOKEN.\n');
    if (request.url?.split('?')[0] !== PATH) return end(404, `The metrics are at ${PATH}.\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return end(405, 'Only GET.\n', { allow: 'GET, HEAD' });
    open.set(request.socket, true);
    response.once('close', () => open.has(request.socket) && open.set(request.socket, false));
    try {
      end(200, await read(), { 'content-type': metrics.contentType });
    } catch (error) {
      logger.warn({ err: error }, 'metrics.failed');
      end(503, 'The database does not answer.\n');
    }
  }

  const server = http.createServer(
    { headersTimeout: LIMIT_MS, requestTimeout: LIMIT_MS, keepAliveTimeout: LIMIT_MS },
    guardConnections((request, response) => void answer(request, response)),
  );
  surviveFailedAccepts(server, logger);
  // Close an old connection when there are too many; otherwise idle connections would block all readers.
  server.on('connection', (socket: Socket) => {
    socket.once('close', () => open.delete(socket));
    open.set(socket, false);
    if (open.size <= MAX_CONNECTIONS) return;
    const [quiet] = [...open].find(([, isAnswered]) => !isAnswered) ?? [socket];
    quiet.destroy();
  });
  // Close the connection of a client that does not read its answer.
  server.setTimeout(2 * LIMIT_MS);

  return {
    listen: async () =>
      `${await bind({ server, listen, variable: 'SERVICE_METRICS_ADDR', scheme: 'http' })}${PATH}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
