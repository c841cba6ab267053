import type { IncomingMessage } from 'node:http';
import compress from '@fastify/compress';
import websocket, { type WebsocketPluginOptions } from '@fastify/websocket';
import { type Clock, type Logger, MINUTE_MS, type Random, WindowCounter } from '@footlight/platform';
import { type Operation, type OperationId, operations, UNAVAILABLE_STATUS } from '@footlight/protocol/rest';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { WebSocket } from 'ws';
import { CHALLENGE_PREFIX } from '../acme.ts';
import type { Config } from '../config/config.ts';
import { ApiError, badNodeCredential, invalid, noSuch } from '../errors.ts';
import { LOG_LINES_PER_MINUTE } from '../limits.ts';
import type { Meters } from '../meters.ts';
import { AdmittedRequest } from './admitted-request.ts';
import {
  type CertificatePem,
  createListeners,
  type ListenerLimits,
  type Listeners,
} from './connection/listeners.ts';
import { limitPayload, SizedWebSocket } from './connection/sized-socket.ts';
import { passUpload, readBody, readUpload } from './message/body.ts';
import { BodyMemory } from './message/body-memory.ts';
import { COMPRESS_FROM_BYTES, sendCached } from './message/cached-body.ts';
import type {
  Authenticate,
  AuthenticateNode,
  Caller,
  HandleOptions,
  NodeCaller,
  OperationRequest,
  OperationResponse,
  UpgradeHandler,
} from './message/contract.ts';
import { answerError } from './message/failures.ts';
import { MethodTable } from './message/methods.ts';
import { bearerToken, decodedPathOf, hasOneHost, isOverTls, parsePart, pathOf } from './message/request.ts';
import { BARE_SECURITY_HEADERS, registerSecurityHeaders } from './message/security-headers.ts';
import { type ClientAddresses, createClientAddresses, trustLine } from './origin/client-address.ts';
import { decidePlainRequest } from './origin/redirect.ts';

/** Type of the plugin's option for the WebSocket class. */
type SocketClass = NonNullable<NonNullable<WebsocketPluginOptions['options']>['WebSocket']>;

const SWITCHING_PROTOCOLS = 101;
const JSON_TYPE = 'application/json; charset=utf-8';
const EVENT_STREAM = 'text/event-stream';
/** Node refuses longer request lines; the schemas limit the length of path parts. */
const MAX_URL_LENGTH = 16 * 1024;
/** Larger than every operation's own message limit. */
const MAX_SOCKET_PAYLOAD_BYTES = 1024 * 1024;
/** Sender of all requests without an account; they share one limit for the memory of their bodies. */
const ANONYMOUS = '';
/**
 * Bytes of each answer that are not counted as unread. 16 such answers on each of a thousand connections take 64 MiB.
 */
const FREE_ANSWER_BYTES = 4 * 1024;
/** Marks the routes that accept a WebSocket upgrade. */
const UPGRADES = Symbol('upgrades');
/** Property of a request with the facts found before its body was read. */
const ADMITTED = Symbol('admitted');
declare module 'fastify' {
  interface FastifyContextConfig {
    [UPGRADES]?: true;
  }
  interface FastifyRequest {
    /** The client's Content-Type; the header itself is hidden from the framework. */
    sentContentType: string | undefined;
    [ADMITTED]: AdmittedRequest | null;
  }
}
/** Unknown paths of this form are answered with the error envelope, never with a page. */
const API_PATH = /^\/(v1|agent|health)(\/|$)/;
/** Only administrators may use paths of this form, even undeclared ones. */
const ADMIN_PATH = /^\/v1\/(admin|hosts)(\/|$)/;

/** Checks that the features accounts and fleet provide. */
export interface CallerChecks {
  authenticate: Authenticate;
  authenticateNode: AuthenticateNode;
  /** @throws ApiError client_too_old */
  checkClientVersion(header: string | undefined): void;
}

/** The HTTP server: features register handlers for declared operations. */
export interface Server {
  /** The framework, for pages; operations use `handle`. */
  readonly fastify: FastifyInstance;
  readonly listeners: Listeners;
  /** Call this before the first operation with a bearer token or a node credential. */
  setCallerChecks(checks: CallerChecks): void;
  /** @throws when the operation is undeclared or already has a handler */
  handle<Id extends OperationId, Begun extends Promise<unknown> | undefined = undefined>(
    id: Id,
    handler: (request: OperationRequest<Id, Begun>) => Promise<OperationResponse<Id>>,
    options?: HandleOptions<Id, Begun>,
  ): void;
  /** Registers a WebSocket operation. */
  upgrade<Id extends OperationId>(id: Id, handler: UpgradeHandler<Id>): void;
  /** Sets the answer for unknown paths outside the API; the default is 404 with the error envelope. */
  otherwise(answer: (request: FastifyRequest, reply: FastifyReply) => unknown): void;
  /** Declared operations without a handler; empty after composition. */
  unhandled(): OperationId[];
  /**
   * From this call on each answer closes its connection. Otherwise a proxy without health checks, such as nginx, could
   * send a request on a kept connection that `close` is about to close, and nginx repeats only reads.
   */
  drain(): void;
  /** Waits for pending answers, then closes both listeners and the remaining sockets. */
  close(): Promise<void>;
}

export interface ServerOptions {
  config: Config;
  logger: Logger;
  /** The machine's real clock, because the sockets are real. */
  clock: Clock;
  random: Random;
  /** The first pair; null: no TLS listener. */
  certificate: CertificatePem | null;
  /** Answer to a request of a certificate authority (CHALLENGE_PREFIX); null: the token is unknown. */
  challengeAnswer?: (token: string) => string | null;
  /** Whether ordinary writes may run; checked before the body is read. */
  writable: () => boolean;
  /** Missing: requests are not counted for metrics. */
  meters?: Pick<Meters, 'answered'>;
  /** Defaults to the production limits. Tests shorten them. */
  limits?: Partial<ListenerLimits>;
}

/** Operations that also run while the disk is full, because they free resources or do not guarantee a write. */
const ESSENTIAL = new Set<OperationId>([
  'sessions.delete',
  'sessions.stats',
  'sessions.traceEvents',
  'sessions.traceClock',
  'agent.recordings.upload',
  'auth.login',
  'auth.logout',
  'hosts.drain',
  // Homes and images may be on the same disk, so their removal frees space. Reports of jobs and scans are not listed,
  // because the host keeps them until they are accepted, and scans only add rows.
  'admin.storage.homes.delete',
  'agent.storage.gcConfirm',
  'images.uninstall',
]);

/** Creates the server; it does not listen yet. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { config, logger, clock, random } = options;
  const listeners = createListeners(options);
  const bootId = random.bytes(4).toString('hex');
  let requests = 0;
  // While the database is down each request fails, and unlimited log lines with stack traces could fill the disk.
  const failureLines = new WindowCounter(LOG_LINES_PER_MINUTE, MINUTE_MS);
  const failedRequestLines = new WindowCounter(LOG_LINES_PER_MINUTE, MINUTE_MS);
  const logFailure = (fields: object): void => {
    if (failureLines.take(clock.monotonicMs())) logger.error(fields, 'http.failed');
  };
  const fastify = Fastify({
    loggerInstance: logger as unknown as FastifyBaseLogger,
    // The server logs its own line for each request, without the query.
    logController: new LogController({ disableRequestLogging: true }),
    // A child logger per request costs more than the request.
    childLoggerFactory: (shared) => shared,
    genReqId: () => {
      requests += 1;
      return `${bootId}-${requests.toString(36)}`;
    },
    serverFactory: (handler) => listeners.attach(handler),
    // Does nothing, because the listeners handle these errors. Fastify's own handler also resets the connection, and with
    // Node 24 the client then gets no answer.
    clientErrorHandler: () => undefined,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: MAX_URL_LENGTH },
    exposeHeadRoutes: true,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for an undecodable path, so the common headers are set here.
      reply.headers(BARE_SECURITY_HEADERS);
      const answer = (refusal: unknown) => answerError(refusal, request, reply as FastifyReply, logFailure);
      admitToPath(request).then(() => answer(error), answer);
    },
  });
  fastify.decorateRequest(ADMITTED, null);
  const clientAddresses = createClientAddresses(config.http.trustedProxies);
  const warnOfUntrustedProxy = untrustedProxyWarning(config, logger, clientAddresses);
  const bodyMemory = new BodyMemory();
  const answerMemory = new BodyMemory({ freeBytes: FREE_ANSWER_BYTES });
  const methods = new MethodTable();
  const handled = new Set<OperationId>();
  let draining = false;
  let checks: CallerChecks | null = null;
  let answerOther: (request: FastifyRequest, reply: FastifyReply) => unknown = (request) => {
    throw noSuch('path', pathOf(request.raw));
  };

  fastify.decorateRequest('sentContentType', undefined);
  fastify.removeAllContentTypeParsers();
  // Each route reads its own body, independent of its media type.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
  fastify.setErrorHandler((error, request, reply) => answerError(error, request, reply, logFailure));
  fastify.setNotFoundHandler(async (request, reply) => {
    await admitToPath(request);
    const path = pathOf(request.raw);
    const allowed = methods.allowed(path);
    if (allowed.length > 0)
      throw new ApiError('method_not_allowed', { headers: { allow: allowed.join(', ') } });
    if (API_PATH.test(path)) throw noSuch('path', path);
    return answerOther(request, reply);
  });

  await fastify.register(websocket, {
    options: {
      maxPayload: MAX_SOCKET_PAYLOAD_BYTES,
      perMessageDeflate: false,
      // Text that is not UTF-8 is handled as a malformed message, with the close code of the socket's own protocol.
      skipUTF8Validation: true,
      WebSocket: SizedWebSocket as unknown as SocketClass,
    },
    // Features close their sockets with their own code before the server closes.
    preClose: (done) => done(),
    errorHandler: (error, socket, request) => {
      logger.debug({ reqId: request.id, err: error }, 'socket.error');
      socket.terminate();
    },
  });
  // Replaces the library's plain-text answer.
  fastify.websocketServer.on('wsClientError', (error, socket) => listeners.refuseBroken(error, socket));
  await fastify.register(compress, {
    threshold: COMPRESS_FROM_BYTES,
    encodings: ['gzip'],
    customTypes: /^application\/json/,
    // Bodies are not decompressed, because decompression would delay small bodies and could produce unlimited data.
    globalDecompression: false,
  });

  registerSecurityHeaders(fastify);
  // Hooks that run for every request are plain functions, because a promise would cost more than the hook's own work.
  fastify.addHook('onRequest', (request, reply, done) => {
    const { headers, url = '/' } = request.raw;
    if (draining) reply.header('connection', 'close');
    if (!hasOneHost(request.raw)) return done(invalid('A request names exactly one Host.'));
    if (headers['x-forwarded-for'] !== undefined) warnOfUntrustedProxy(request.raw);
    if (options.challengeAnswer !== undefined && url.startsWith(CHALLENGE_PREFIX)) {
      const answer = options.challengeAnswer(url.slice(CHALLENGE_PREFIX.length));
      if (answer !== null) {
        reply.type('application/octet-stream').send(answer);
        return;
      }
    }
    // The framework would refuse unknown types with 415; here only uploads have a type.
    request.sentContentType = headers['content-type'];
    if (request.sentContentType !== undefined) headers['content-type'] = 'application/octet-stream';
    if (config.tls && config.http.redirect && !isOverTls(request.raw)) {
      const verdict = decidePlainRequest({ url, headers, isUpgrade: request.ws }, config.http.redirectPort);
      if (verdict.kind === 'refuse') return done(verdict.error);
      if (verdict.kind === 'redirect') {
        reply.code(308).header('location', verdict.location).send();
        return;
      }
    }
    if (request.ws && !request.is404 && !request.routeOptions.config[UPGRADES]) {
      const refusal = invalid('This address is not for WebSocket connections.');
      admitToPath(request).then(() => done(refusal), done);
      return;
    }
    done();
  });

  function logAnswer(request: FastifyRequest, reply: FastifyReply, status: number): void {
    const level = status >= 500 && failedRequestLines.take(clock.monotonicMs()) ? 'warn' : 'debug';
    if (logger.isLevelEnabled(level)) {
      logger[level](
        {
          reqId: request.id,
          method: request.method,
          // The query is left out, because it may contain a token.
          path: pathOf(request.raw),
          status,
          ms: Math.round(reply.elapsedTime),
        },
        'http.request',
      );
    }
  }
  fastify.addHook('onResponse', (request, reply, done) => {
    logAnswer(request, reply, reply.statusCode);
    const route = request.is404 ? null : (request.routeOptions.url ?? null);
    options.meters?.answered(request.method, route, reply.statusCode, reply.elapsedTime / 1_000);
    done();
  });

  /** @returns null for an operation that is switched off; it gets no route */
  function declare(id: OperationId): Operation | null {
    const operation: Operation | undefined = operations[id];
    if (!operation) throw new Error(`operation ${id} is not declared`);
    if (handled.has(id)) throw new Error(`operation ${id} already has a handler`);
    handled.add(id);
    const { onlyWith } = operation;
    return onlyWith === undefined || config.switchedOn.has(onlyWith) ? operation : null;
  }

  /** Checks before the body is read: 401, 426, 403, disk, path, query. */
  async function admit(
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<AdmittedRequest> {
    const bearer = operation.auth === 'user' || operation.auth === 'admin';
    const caller = bearer ? await callerOf(operation, request) : null;
    const node = operation.auth === 'node' && !operation.websocket ? await nodeOf(request) : null;
    if (operation.method !== 'GET' && !ESSENTIAL.has(operation.id as OperationId) && !options.writable()) {
      throw new ApiError('internal', {
        status: 503,
        retryAfterSecs: 30,
        message: 'The disk of the server is full.',
      });
    }
    const admitted = new AdmittedRequest(request, reply, { caller, node }, clientAddresses);
    if (operation.params) admitted.params = parsePart(operation.params, request.params) as object;
    const querySchema = operation.query;
    if (querySchema && operation.websocket) {
      // The query is parsed when it is first used, because the operation's own checks come first.
      Object.defineProperty(admitted, 'query', { get: () => parsePart(querySchema, request.query) });
    } else if (querySchema) {
      admitted.query = parsePart(querySchema, request.query) as object;
    }
    return admitted;
  }

  async function bodyOf(
    { body, upload }: Operation,
    { raw: request, caller }: AdmittedRequest,
    maxUploadBytes = upload?.defaultMaxBytes ?? 0,
  ): Promise<unknown> {
    if (upload?.isPassedOn) return passUpload(request.raw, request.sentContentType, upload, maxUploadBytes);
    const claim = bodyMemory.claim(caller?.userId ?? ANONYMOUS);
    if (body) return parsePart(body.schema, await readBody(request.raw, body, claim));
    if (upload) return readUpload(request.raw, request.sentContentType, upload, maxUploadBytes, claim);
    return undefined;
  }

  /**
   * Counts an answer until the client has read it: a client that requests thousands of answers and reads none would
   * fill the memory. Answers without an account are short, and cached bodies are shared.
   * @throws ApiError 503 when the person has too many unread answers
   */
  function hold(bytes: number, reply: FastifyReply, caller: Caller | null): void {
    if (caller === null || bytes <= FREE_ANSWER_BYTES) return;
    const claim = answerMemory.claim(caller.userId);
    if (!claim.add(bytes)) {
      claim.release();
      throw new ApiError('internal', {
        status: UNAVAILABLE_STATUS,
        message: 'Too many long answers to this account wait to be read; try again in a moment.',
        retryAfterSecs: 1,
        headers: { connection: 'close' },
      });
    }
    if (reply.raw.destroyed) claim.release();
    else reply.raw.once('finish', claim.release).once('close', claim.release);
  }

  /**
   * Only administrators may find out which paths exist in their area, and with which methods.
   * @throws ApiError 401, 426 or 403 for other callers on a path of the administrators' area
   */
  async function admitToPath(request: Pick<FastifyRequest, 'raw'>): Promise<void> {
    if (ADMIN_PATH.test(decodedPathOf(request.raw))) await callerOf({ auth: 'admin' }, request);
  }

  async function callerOf(
    operation: Pick<Operation, 'auth' | 'versionGated'>,
    request: Pick<FastifyRequest, 'raw'>,
  ): Promise<Caller> {
    const token = bearerToken(request.raw.headers.authorization);
    if (token === null) throw new ApiError('unauthorized');
    if (!checks) throw new Error('the server has no way to look tokens up');
    const caller = await checks.authenticate(token);
    if (!caller) {
      throw new ApiError('unauthorized', { message: 'This sign-in is invalid or has expired.' });
    }
    if (operation.versionGated !== false) {
      const presented = request.raw.headers['x-service-client-version'];
      checks.checkClientVersion(typeof presented === 'string' ? presented : undefined);
    }
    if (operation.auth === 'admin' && caller.role !== 'admin') throw new ApiError('forbidden');
    return caller;
  }

  async function nodeOf({ raw }: Pick<FastifyRequest, 'raw'>): Promise<NodeCaller> {
    if (!checks) throw new Error('the server has no way to look hosts up');
    const node = await checks.authenticateNode(raw.headers);
    if (node === null) throw badNodeCredential();
    return node;
  }

  const server: Server = {
    fastify,
    listeners,
    setCallerChecks(given) {
      checks = given;
    },
    handle(id, handler, handleOptions = {}) {
      const operation = declare(id);
      if (operation === null) return;
      methods.add(operation.method, operation.path);
      fastify.route({
        method: operation.method,
        url: routeUrl(operation.path),
        ...(handleOptions.compress === false && { compress: false as const }),
        exposeHeadRoute: operation.method === 'GET' && operation.contentType !== EVENT_STREAM,
        onRequest: async (request, reply) => {
          const begun = handleOptions.begin?.();
          // A failed read must not end the process when the request is refused before it awaits the read.
          begun?.catch(() => undefined);
          const admitted = await admit(operation, request, reply);
          admitted.begun = begun;
          if (handleOptions.early) await handleOptions.early(admitted.as());
          request[ADMITTED] = admitted;
        },
        handler: async (request, reply) => {
          const admitted = request[ADMITTED];
          if (!admitted) throw new Error('the request was not admitted');
          if (operation.body || operation.upload) {
            const isSlow = !request.raw.complete;
            admitted.body = await bodyOf(operation, admitted, handleOptions.maxUploadBytes);
            // A client may delay the end of a body by 30 s, so its rights are checked after the body.
            if (isSlow && admitted.caller !== null) admitted.caller = await callerOf(operation, request);
          }
          const answer = await handler(admitted.as());
          return send(operation, answer, reply, (bytes) => hold(bytes, reply, admitted.caller));
        },
      });
    },
    upgrade(id, handler) {
      const operation = declare(id);
      if (operation === null) return;
      methods.add(operation.method, operation.path);
      fastify.route({
        method: 'GET',
        exposeHeadRoute: false,
        config: { [UPGRADES]: true },
        url: routeUrl(operation.path),
        onRequest: async (request, reply) => {
          const admitted = await admit(operation, request, reply);
          await handler.authorize(admitted.as(), request.ws === true);
          request[ADMITTED] = admitted;
          limitPayload(request.raw.socket, handler.maxPayloadBytes);
        },
        handler: async () => {
          throw new ApiError('validation_failed', { message: 'This address is for WebSocket connections.' });
        },
        wsHandler: (socket, request) => {
          const admitted = request[ADMITTED];
          if (!admitted) return;
          logAnswer(request, admitted.reply, SWITCHING_PROTOCOLS);
          const seconds = admitted.reply.elapsedTime / 1_000;
          options.meters?.answered(request.method, routeUrl(operation.path), SWITCHING_PROTOCOLS, seconds);
          // The connection may live for days. Detach the request and the answer from it: they need more memory than
          // everything else of the socket.
          admitted.reply.raw.detachSocket(request.raw.socket);
          socket.removeAllListeners('error');
          socket.on('error', cut);
          return handler.open(socket, admitted.as());
        },
      });
    },
    otherwise(answer) {
      answerOther = answer;
    },
    drain() {
      draining = true;
    },
    async close() {
      await listeners.close();
      await fastify.close();
    },
    unhandled: () => (Object.keys(operations) as OperationId[]).filter((id) => !handled.has(id)),
  };
  return server;
}

/**
 * Logs once per start that requests come through an untrusted proxy. All clients behind it share one address, and
 * therefore one bucket of each limit.
 */
function untrustedProxyWarning(
  config: Config,
  logger: Logger,
  addresses: ClientAddresses,
): (request: IncomingMessage) => void {
  let warned = false;
  /** The last trusted peer, cached because one proxy sends most requests. */
  let trustedPeer: string | undefined;
  return (request) => {
    const { remoteAddress } = request.socket;
    if (warned || (remoteAddress !== undefined && remoteAddress === trustedPeer)) return;
    const { untrustedForwarder: peer } = addresses.of(request);
    if (peer === null) {
      trustedPeer = remoteAddress;
      return;
    }
    warned = true;
    logger.warn(
      {
        peer,
        hint: `${peer} sends X-Forwarded-For and is no trusted proxy, so all clients behind it count as one. If it is your proxy, set ${trustLine(config.http.trustedProxies, peer)}`,
      },
      'http.untrusted_proxy',
    );
  };
}

/** Terminates a socket after an error; the feature's listener reports the error. */
function cut(this: WebSocket): void {
  this.terminate();
}

const routeUrl = (path: string): string => path.replace(/\{([^}]+)\}/g, ':$1');

/** @param hold called with the bytes that the answer keeps in memory until it is read */
function send<Id extends OperationId>(
  operation: Operation,
  answer: OperationResponse<Id>,
  reply: FastifyReply,
  hold: (bytes: number) => void,
): FastifyReply | Promise<FastifyReply> {
  if ('hijacked' in answer) return reply;
  if ('kept' in answer)
    return sendCached(answer.kept, begin(answer, reply).header('content-type', JSON_TYPE));
  if ('raw' in answer) {
    const type = answer.headers?.['content-type'] ?? operation.contentType ?? JSON_TYPE;
    return begin(answer, reply).header('content-type', type).send(answer.raw);
  }
  if (answer.body === undefined) return begin(answer, reply).send();
  const text = JSON.stringify(answer.body);
  hold(text.length);
  return begin(answer, reply).header('content-type', JSON_TYPE).send(text);
}

function begin(
  answer: { status: number; headers?: Record<string, string> },
  reply: FastifyReply,
): FastifyReply {
  reply.code(answer.status);
  return answer.headers ? reply.headers(answer.headers) : reply;
}
