import type { IncomingMessage } from 'node:http';
import compress from '@fastify/compress';
import websocket, { type WebsocketPluginOptions } from '@fastify/websocket';
import type { Logger, Random } from '@footlight/platform';
import { systemClock } from '@footlight/platform';
import { type Operation, type OperationId, operations } from '@footlight/protocol/rest';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { WebSocket } from 'ws';
import type { Config } from '../config/config.ts';
import { ApiError, invalid } from '../errors.ts';
import { AdmittedRequest } from './admitted-request.ts';
import { createListeners, type ListenerLimits, type Listeners } from './connection/listeners.ts';
import { limitPayload, SizedWebSocket } from './connection/sized-socket.ts';
import { LineBudget } from './line-budget.ts';
import { readBody, readUpload } from './message/body.ts';
import { BodyMemory } from './message/body-memory.ts';
import type {
  Authenticate,
  Caller,
  HandleOptions,
  OperationRequest,
  OperationResponse,
  UpgradeHandler,
} from './message/contract.ts';
import { answerError } from './message/failures.ts';
import { COMPRESS_FROM_BYTES, sendKept } from './message/kept-body.ts';
import { MethodTable } from './message/methods.ts';
import { bearerToken, decodedPathOf, hasOneHost, isOverTls, parsePart, pathOf } from './message/request.ts';
import { BARE_SECURITY_HEADERS, registerSecurityHeaders } from './message/security-headers.ts';
import { type ClientAddresses, createClientAddresses, trustLine } from './origin/client-address.ts';
import { decidePlainRequest } from './origin/redirect.ts';

/** The type that the plugin declares for the option, which stands for the class. */
type SocketClass = NonNullable<NonNullable<WebsocketPluginOptions['options']>['WebSocket']>;

const SWITCHING_PROTOCOLS = 101;
const JSON_TYPE = 'application/json; charset=utf-8';
const EVENT_STREAM = 'text/event-stream';
/** Node refuses a longer request line before it gets here; a path part of any length is judged by its schema. */
const MAX_URL_LENGTH = 16 * 1024;
/** Above every limit that an upgrade sets for itself. */
const MAX_SOCKET_PAYLOAD_BYTES = 1024 * 1024;
/** Requests without an account share the memory of their bodies. */
const NOBODY = '';
/** Marks the routes that a WebSocket may be opened on. */
const UPGRADES = Symbol('upgrades');
/** Where a request keeps what was found out about it before its body was read. */
const ADMITTED = Symbol('admitted');
declare module 'fastify' {
  interface FastifyContextConfig {
    [UPGRADES]?: true;
  }
  interface FastifyRequest {
    /** Content-Type as the client sent it; the header itself is taken from the framework's sight. */
    sentContentType: string | undefined;
    [ADMITTED]: AdmittedRequest | null;
  }
}
/** Paths whose unknown parts are answered in the envelope and never with a page. */
const API_PATH = /^\/(v1|agent|health)(\/|$)/;
/** Paths below which everything, declared or not, is for administrators only. */
const ADMIN_PATH = /^\/v1\/(admin|hosts)(\/|$)/;

/** What the accounts feature brings in once it is built. */
export interface CallerChecks {
  authenticate: Authenticate;
  /** @throws ApiError client_too_old */
  checkClientVersion(header: string | undefined): void;
}

/** The HTTP side of the service: features hang their handlers on declared operations. */
export interface Server {
  /** The framework underneath, for pages; operations go through `handle`. */
  readonly fastify: FastifyInstance;
  readonly listeners: Listeners;
  /** Must be called before the first bearer operation is asked for. */
  setCallerChecks(checks: CallerChecks): void;
  /** @throws when the operation is not declared or already has a handler */
  handle<Id extends OperationId>(
    id: Id,
    handler: (request: OperationRequest<Id>) => Promise<OperationResponse<Id>>,
    options?: HandleOptions<Id>,
  ): void;
  /** Same for an operation that is a WebSocket upgrade. */
  upgrade<Id extends OperationId>(id: Id, handler: UpgradeHandler<Id>): void;
  /** Answers paths that no route has and that are not the API's, until then 404 in the envelope. */
  otherwise(answer: (request: FastifyRequest, reply: FastifyReply) => unknown): void;
  /** Declared operations that have no handler; empty once everything is wired. */
  unhandled(): OperationId[];
  /** Lets answers under way finish, then closes both listeners and what is left of the sockets. */
  close(): Promise<void>;
}

export interface ServerOptions {
  config: Config;
  logger: Logger;
  random: Random;
  /** PEM pair; null: no TLS listener. */
  certificate: { cert: string; key: string } | null;
  /** Refuses what does not free resources or report state; consulted before the body is read. */
  writable: () => boolean;
  /** Left out: what strangers meet. Tests shorten them. */
  limits?: Partial<ListenerLimits>;
}

/** Operations that still write while the disk is full: they free resources. */
const ESSENTIAL = new Set<OperationId>(['sessions.delete', 'auth.login', 'auth.logout', 'hosts.drain']);

/** Builds the server; nothing listens yet. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { config, logger, random } = options;
  const listeners = createListeners(options);
  const bootId = random.bytes(4).toString('hex');
  let requests = 0;
  const failureLines = new LineBudget(systemClock);
  const failedRequestLines = new LineBudget(systemClock);
  const fastify = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    // One line of our own for each request, without the query.
    logController: new LogController({ disableRequestLogging: true }),
    // A child of the logger for each request costs more than the request; the few lines name it themselves.
    childLoggerFactory: (shared) => shared,
    genReqId: () => {
      requests += 1;
      return `${bootId}-${requests.toString(36)}`;
    },
    serverFactory: (handler) => listeners.attach(handler),
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: MAX_URL_LENGTH },
    exposeHeadRoutes: true,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for a path that cannot be decoded, so the headers of every answer are set here.
      reply.headers(BARE_SECURITY_HEADERS);
      const answer = (refusal: unknown) => answerError(refusal, request, reply as FastifyReply, failureLines);
      admitToPath(request).then(() => answer(error), answer);
    },
  });
  fastify.decorateRequest(ADMITTED, null);
  const clientAddresses = createClientAddresses(config.http.trustedProxies);
  const warnOfUntrustedProxy = untrustedProxyWarning(config, logger, clientAddresses);
  const bodyMemory = new BodyMemory();
  const methods = new MethodTable();
  const handled = new Set<OperationId>();
  let checks: CallerChecks | null = null;
  let answerOther: (request: FastifyRequest, reply: FastifyReply) => unknown = () => {
    throw new ApiError('not_found');
  };

  fastify.decorateRequest('sentContentType', undefined);
  fastify.removeAllContentTypeParsers();
  // Whatever the type says, bytes are bytes: each route reads its own body, or leaves it unread.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
  fastify.setErrorHandler((error, request, reply) => answerError(error, request, reply, failureLines));
  fastify.setNotFoundHandler(async (request, reply) => {
    await admitToPath(request);
    const path = pathOf(request.raw);
    const allowed = methods.allowed(path);
    if (allowed.length > 0)
      throw new ApiError('method_not_allowed', { headers: { allow: allowed.join(', ') } });
    if (API_PATH.test(path)) throw new ApiError('not_found');
    return answerOther(request, reply);
  });

  await fastify.register(websocket, {
    options: {
      maxPayload: MAX_SOCKET_PAYLOAD_BYTES,
      perMessageDeflate: false,
      // Text that is no UTF-8 is a malformed message of the protocol on top and gets that protocol's close code.
      skipUTF8Validation: true,
      WebSocket: SizedWebSocket as unknown as SocketClass,
    },
    // Features say goodbye with a code of their own before the server closes.
    preClose: (done) => done(),
    errorHandler: (error, socket, request) => {
      request.log.debug({ reqId: request.id, err: error }, 'socket.error');
      socket.terminate();
    },
  });
  // In place of the bare text that the library writes.
  fastify.websocketServer.on('wsClientError', (error, socket) => listeners.refuseBroken(error, socket));
  await fastify.register(compress, {
    threshold: COMPRESS_FROM_BYTES,
    encodings: ['gzip'],
    customTypes: /^application\/json/,
    // Bodies are read as they come: unpacking would hold back small ones and swell others without bound.
    globalDecompression: false,
  });

  registerSecurityHeaders(fastify);
  // Hooks that every request passes are plain functions: a promise for each would cost more than what they do.
  fastify.addHook('onRequest', (request, reply, done) => {
    const { headers, url = '/' } = request.raw;
    if (!hasOneHost(request.raw)) return done(invalid('A request names exactly one Host.'));
    if (headers['x-forwarded-for'] !== undefined) warnOfUntrustedProxy(request.raw);
    // The framework refuses odd types with 415; here the type has a meaning for uploads only.
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
    const level = status >= 500 && failedRequestLines.take() ? 'warn' : 'debug';
    if (logger.isLevelEnabled(level)) {
      logger[level](
        {
          reqId: request.id,
          method: request.method,
          // Without the query, which may hold a token.
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
    done();
  });

  /** @returns null where the operation is switched off: it has its handler then, and no route leads there */
  function declare(id: OperationId): Operation | null {
    const operation: Operation | undefined = operations[id];
    if (!operation) throw new Error(`operation ${id} is not declared`);
    if (handled.has(id)) throw new Error(`operation ${id} already has a handler`);
    handled.add(id);
    const { onlyWith } = operation;
    return onlyWith === undefined || config.switchedOn.has(onlyWith) ? operation : null;
  }

  /** Everything that is decided before the body: 401, 426, 403, disk, path, query. */
  async function admit(
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<AdmittedRequest> {
    const bearer = operation.auth === 'user' || operation.auth === 'admin';
    const caller = bearer ? await callerOf(operation, request) : null;
    if (operation.method !== 'GET' && !ESSENTIAL.has(operation.id as OperationId) && !options.writable()) {
      throw new ApiError('internal', {
        status: 503,
        retryAfterSecs: 30,
        message: 'The disk of the server is full.',
      });
    }
    const admitted = new AdmittedRequest(request, reply, caller, clientAddresses);
    if (operation.params) admitted.params = parsePart(operation.params, request.params) as object;
    const querySchema = operation.query;
    if (querySchema && operation.websocket) {
      // Checks of the operation's own come before this one, so it waits until somebody asks.
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
    const claim = bodyMemory.claim(caller?.userId ?? NOBODY);
    if (body) return parsePart(body.schema, await readBody(request.raw, body, claim));
    if (upload) return readUpload(request.raw, request.sentContentType, upload, maxUploadBytes, claim);
    return undefined;
  }

  /**
   * Lets only administrators learn which paths below theirs exist and which methods they take.
   * @throws ApiError 401, 426 or 403 for anybody else on such a path
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
          const admitted = await admit(operation, request, reply);
          if (handleOptions.early) await handleOptions.early(admitted.as<typeof id>());
          request[ADMITTED] = admitted;
        },
        handler: async (request, reply) => {
          const admitted = request[ADMITTED];
          if (!admitted) throw new Error('the request was not admitted');
          if (operation.body || operation.upload) {
            const isSlow = !request.raw.complete;
            admitted.body = await bodyOf(operation, admitted, handleOptions.maxUploadBytes);
            // A client may keep the end of a body back for 30 s. What it may do is judged after that, not before.
            if (isSlow && admitted.caller !== null) admitted.caller = await callerOf(operation, request);
          }
          return send(operation, await handler(admitted.as<typeof id>()), reply);
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
          await handler.authorize(admitted.as<typeof id>(), request.ws === true);
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
          // The connection may live for days. It would keep the request that it began with, and the answer that never
          // was one; they are larger than all that it needs.
          admitted.reply.raw.detachSocket(request.raw.socket);
          socket.removeAllListeners('error');
          socket.on('error', cut);
          return handler.open(socket, admitted.as<typeof id>());
        },
      });
    },
    otherwise(answer) {
      answerOther = answer;
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
 * Says once per start that a proxy is in front which is not trusted: everybody behind it shares one address then, and
 * one bucket of each limit.
 */
function untrustedProxyWarning(
  config: Config,
  logger: Logger,
  addresses: ClientAddresses,
): (request: IncomingMessage) => void {
  let warned = false;
  /** The trusted peer that was looked at last; one proxy sends most requests. */
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

/** Listeners of features say what went wrong; a socket in error carries nothing any more. */
function cut(this: WebSocket): void {
  this.terminate();
}

const routeUrl = (path: string): string => path.replace(/\{([^}]+)\}/g, ':$1');

function send<Id extends OperationId>(
  operation: Operation,
  answer: OperationResponse<Id>,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  if ('hijacked' in answer) return reply;
  reply.code(answer.status);
  if (answer.headers) reply.headers(answer.headers);
  if ('kept' in answer) return sendKept(answer.kept, reply.header('content-type', JSON_TYPE));
  if ('raw' in answer) {
    const type = answer.headers?.['content-type'] ?? operation.contentType ?? JSON_TYPE;
    return reply.header('content-type', type).send(answer.raw);
  }
  if (answer.body === undefined) return reply.send();
  return reply.header('content-type', JSON_TYPE).send(JSON.stringify(answer.body));
}
