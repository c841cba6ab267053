import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@footlight/platform';
import { type Clock, SECOND_MS } from '@footlight/platform';
import type { Config } from '../../config/config.ts';
import { SECURE_CONTEXT } from '../../tls.ts';
import { BARE_SECURITY_HEADERS } from '../message/security-headers.ts';
import { createClientAddresses } from '../origin/client-address.ts';
import { bind, surviveFailedAccepts } from './bind.ts';
import { guardConnections } from './connection-guard.ts';
import { isExtended } from './long-request.ts';

/** Maximum pieces that are still read of a refused request; each has at most 64 KiB. */
const MAX_REST_PIECES = 16;
/** Time for which a refused connection may stay silent until it is closed. Chosen, not measured. */
const REFUSED_MS = SECOND_MS / 2;

/** Time limits of clients and the number of connections. */
export interface ListenerLimits {
  /** Time limit of request line and headers. */
  headersMs: number;
  /** Time limit of the whole request, body included. */
  requestMs: number;
  /** Time limit without traffic; it also closes connections of clients that do not read their answers. */
  idleMs: number;
  keepAliveMs: number;
  handshakeMs: number;
  /** Interval of the check for slow clients. */
  checkEveryMs: number;
  /**
   * Maximum connections: enough for ten thousand agents and as many viewers. Further connections are closed at once.
   */
  connections: number;
}

const LIMITS: ListenerLimits = {
  headersMs: 10 * SECOND_MS,
  requestMs: 30 * SECOND_MS,
  idleMs: 60 * SECOND_MS,
  keepAliveMs: 30 * SECOND_MS,
  handshakeMs: 10 * SECOND_MS,
  checkEveryMs: 2 * SECOND_MS,
  connections: 20_000,
};

/** Headers for answers that are written directly to a socket. */
const RAW_SECURITY_HEADERS = Object.entries(BARE_SECURITY_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** Time for pending answers and close frames at shutdown. */
const CLOSE_LIMIT_MS = 2 * SECOND_MS;

export interface Addresses {
  http: string;
  /** null when TLS is off. */
  https: string | null;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The chain and its key. */
export interface CertificatePem {
  cert: string;
  key: string;
}

/** The plain and the TLS listener; both serve the same routes. */
export interface Listeners {
  /** Creates both servers with one handler; returns the plain one. */
  attach(handler: Handler): http.Server;
  /** Uses this pair for new TLS handshakes. Open connections continue. */
  setCertificate(pair: CertificatePem): void;
  /** @throws with the variable's name when an address cannot be bound; nothing stays bound */
  listen(): Promise<Addresses>;
  /** Answers malformed or slow requests and closes the connection. */
  refuseBroken(error: Error, socket: Duplex): void;
  close(): Promise<void>;
}

/** Open connections of one address key. All connections of the address share this object. */
interface AddressCount {
  readonly key: string;
  open: number;
}

interface Bound {
  server: http.Server | https.Server;
  /**
   * Every connection with the count of its address. Needed because the server itself does not track TLS handshakes and
   * upgraded sockets. null: the address has no limit.
   */
  sockets: Map<Socket, AddressCount | null>;
  listen: { host: string | null; port: number };
  variable: string;
  scheme: 'http' | 'https';
}

export function createListeners(options: {
  config: Config;
  logger: Logger;
  clock: Clock;
  certificate: CertificatePem | null;
  /** Defaults to the production limits. Tests shorten them. */
  limits?: Partial<ListenerLimits>;
}): Listeners {
  const { config, logger, clock } = options;
  const limits = { ...LIMITS, ...options.limits };
  const bound: Bound[] = [];
  /** Pieces that were read of the rest of a refused request; each one is reported as another error. */
  const rests = new WeakMap<Duplex, number>();
  // If the process may open only few files, one address must leave descriptors for the others.
  const perAddress = Math.min(config.http.connectionsPerAddress, Math.floor(mayOpen() / 2));
  const addresses = createClientAddresses(config.http.trustedProxies);
  /** Counts of both listeners. An entry exists while a connection of its address is open. */
  const counts = new Map<string, AddressCount>();

  /**
   * Counts a new connection. @returns null: the connection is not counted; 'over': the address has reached its limit
   */
  function admit(remoteAddress: string | undefined): AddressCount | null | 'over' {
    const peer = perAddress === 0 ? null : addresses.peer(remoteAddress);
    if (peer === null || peer.trustedProxy) return null;
    const count = counts.get(peer.addressKey) ?? { key: peer.addressKey, open: 0 };
    if (count.open >= perAddress) return 'over';
    count.open += 1;
    counts.set(count.key, count);
    return count;
  }

  function release(count: AddressCount | null): void {
    if (count === null) return;
    count.open -= 1;
    if (count.open === 0) counts.delete(count.key);
  }

  const listeners: Listeners = {
    attach(answer) {
      const handler = guardConnections(answer);
      const timeouts = {
        headersTimeout: limits.headersMs,
        requestTimeout: limits.requestMs,
        keepAliveTimeout: limits.keepAliveMs,
        connectionsCheckingInterval: limits.checkEveryMs,
        // The Host header is checked later with the other checks, so that the refusal has the usual form.
        requireHostHeader: false,
      };
      const plain = http.createServer(timeouts, handler);
      bound.push({
        server: plain,
        sockets: new Map(),
        listen: config.http.listen,
        variable: 'LISTEN_ADDR or CONTROL_PORT',
        scheme: 'http',
      });
      if (config.tls && options.certificate) {
        const secure = https.createServer(
          {
            ...timeouts,
            cert: options.certificate.cert,
            key: options.certificate.key,
            ...SECURE_CONTEXT,
            handshakeTimeout: limits.handshakeMs,
            ALPNProtocols: ['http/1.1'],
          },
          handler,
        );
        // Upgrades of both listeners are handled in one place.
        secure.on('upgrade', (request, socket, head) => plain.emit('upgrade', request, socket, head));
        secure.on('tlsClientError', (_error, socket) => socket.destroy());
        bound.push({
          server: secure,
          sockets: new Map(),
          listen: config.tls.listen,
          variable: 'SERVICE_TLS_ADDR or SERVICE_TLS_PORT',
          scheme: 'https',
        });
      }
      for (const { server, sockets } of bound) {
        // One shared function, because otherwise each of ten thousand sockets would keep its own closure.
        const forget = function (this: Socket): void {
          release(sockets.get(this) ?? null);
          sockets.delete(this);
        };
        server.on('connection', (socket: Socket) => {
          const count = admit(socket.remoteAddress);
          if (count === 'over') {
            // Destroy the socket in the same turn, before any byte is read.
            socket.destroy();
            return;
          }
          sockets.set(socket, count);
          socket.on('close', forget);
        });
        server.on('checkExpectation', handler);
        server.maxConnections = limits.connections;
        server.setTimeout(limits.idleMs);
        server.on('clientError', listeners.refuseBroken);
        surviveFailedAccepts(server, logger);
      }
      return plain;
    },

    setCertificate({ cert, key }) {
      for (const { server } of bound)
        if (server instanceof https.Server) server.setSecureContext({ cert, key, ...SECURE_CONTEXT });
    },

    async listen() {
      const urls: Record<Bound['scheme'], string | null> = { http: null, https: null };
      try {
        for (const entry of bound) urls[entry.scheme] = await bind(entry);
      } catch (error) {
        await listeners.close();
        throw error;
      }
      return { http: urls.http ?? '', https: urls.https };
    },

    refuseBroken(error, socket) {
      const code = 'code' in error ? error.code : '';
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && isExtended(socket)) return;
      const pieces = rests.get(socket);
      if (pieces !== undefined && pieces < MAX_REST_PIECES && code !== 'ECONNRESET') {
        rests.set(socket, pieces + 1);
        return;
      }
      if (code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const status =
        code === 'HPE_HEADER_OVERFLOW'
          ? '431 Request Header Fields Too Large'
          : code === 'ERR_HTTP_REQUEST_TIMEOUT'
            ? '408 Request Timeout'
            : '400 Bad Request';
      const body = '{"error":{"code":"validation_failed","message":"The request cannot be read."}}';
      const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${RAW_SECURITY_HEADERS}Connection: close\r\n\r\n`;
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
        socket.end(head + body, () => socket.destroy());
        return;
      }
      // The rest is read and discarded, because a connection that is closed with unread data is reset, and then the
      // client may lose the answer.
      rests.set(socket, 0);
      (socket as Socket).setTimeout(REFUSED_MS);
      socket.end(head + body);
    },

    async close() {
      await Promise.all(bound.map((server) => closeServer(server, clock)));
    },
  };
  return listeners;
}

/** Maximum files that this process may open; Infinity: unknown. */
function mayOpen(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return Number(limit?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function closeServer({ server, sockets }: Bound, clock: Clock): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const deadline = clock.setTimeout(() => {
      for (const socket of sockets.keys()) socket.destroy();
    }, CLOSE_LIMIT_MS);
    server.close(() => {
      deadline.cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
