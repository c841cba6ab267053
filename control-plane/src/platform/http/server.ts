import compress from '@fastify/compress';
import websocket, { type WebsocketPluginOptions } from '@fastify/websocket';
import { type Operation, type OperationId, operations } from '@footlight/protocol/rest';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Config } from '../config.ts';
import { ApiError, invalid } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Random } from '../random.ts';
import { readBody, readUpload } from './body.ts';
import { createClientAddresses } from './client-address.ts';
import type {
  Authenticate,
  Caller,
  EarlyRequest,
  HandleOptions,
  OperationRequest,
  OperationResponse,
  UpgradeHandler,
} from './contract.ts';
import { answerError } from './failures.ts';
import { createListeners, type ListenerLimits, type Listeners } from './listeners.ts';
import { MethodTable } from './methods.ts';
import { decidePlainRequest } from './redirect.ts';
import { bearerToken, isOverTls, parsePart, pathOf } from './request.ts';
import { registerSecurityHeaders } from './security-headers.ts';
import { limitPayload, SizedWebSocket } from './sized-socket.ts';

/** The type that the plugin declares for the option, which stands for the class. */
type SocketClass = NonNullable<NonNullable<WebsocketPluginOptions['options']>['WebSocket']>;

const JSON_TYPE = 'application/json; charset=utf-8';
const EVENT_STREAM = 'text/event-stream';
/** Node refuses a longer request line before it gets here; a path part of any length is judged by its schema. */
const MAX_URL_LENGTH = 16 * 1024;
const COMPRESS_FROM_BYTES = 1024;
/** Above every limit that an upgrade sets for itself. */
const MAX_SOCKET_PAYLOAD_BYTES = 1024 * 1024;
/** Marks the routes that a WebSocket may be opened on. */
const UPGRADES = Symbol('upgrades');
declare module 'fastify' {
  interface FastifyContextConfig {
    [UPGRADES]?: true;
  }
  interface FastifyRequest {
    /** Content-Type as the client sent it; the header itself is taken from the framework's sight. */
    sentContentType: string | undefined;
  }
}
/** Paths whose unknown parts are answered in the envelope and never with a page. */
const API_PATH = /^\/(v1|agent|health)(\/|$)/;

/** What every answer carries, for those that never reach the hooks. */
const BARE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

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
  const fastify = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    // One line of our own for each request, without the query.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => {
      requests += 1;
      return `${bootId}-${requests.toString(36)}`;
    },
    serverFactory: (handler) => listeners.attach(handler),
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: MAX_URL_LENGTH },
    exposeHeadRoutes: true,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for a path that cannot be decoded, so the headers of every answer are set here.
      reply.headers(BARE_HEADERS);
      answerError(error, request, reply as FastifyReply);
    },
  });
  const clientAddress = createClientAddresses(config.http.trustedProxies);
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
  fastify.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  fastify.setNotFoundHandler((request, reply) => {
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
      request.log.debug({ event: 'socket.error', err: error });
      socket.terminate();
    },
  });
  await fastify.register(compress, {
    threshold: COMPRESS_FROM_BYTES,
    encodings: ['gzip'],
    customTypes: /^application\/json/,
    // Bodies are read as they come: unpacking would hold back small ones and swell others without bound.
    globalDecompression: false,
  });

  await registerSecurityHeaders(fastify);
  fastify.addHook('onRequest', async (request, reply) => {
    // The framework refuses odd types with 415; here the type has a meaning for uploads only.
    request.sentContentType = request.raw.headers['content-type'];
    if (request.sentContentType !== undefined) {
      request.raw.headers['content-type'] = 'application/octet-stream';
    }
    if (config.tls && config.http.redirect && !isOverTls(request.raw)) {
      const verdict = decidePlainRequest(
        { url: request.raw.url ?? '/', headers: request.raw.headers, isUpgrade: request.ws },
        config.http.redirectPort,
      );
      if (verdict.kind === 'refuse') throw verdict.error;
      if (verdict.kind === 'redirect') return reply.code(308).header('location', verdict.location).send();
    }
    if (request.ws && !request.is404 && !request.routeOptions.config[UPGRADES]) {
      throw invalid('This address is not for WebSocket connections.');
    }
  });

  fastify.addHook('onResponse', (request, reply, done) => {
    const status = reply.statusCode;
    request.log[status >= 500 ? 'warn' : 'debug']({
      event: 'http.request',
      method: request.method,
      // Without the query, which may hold a token.
      path: pathOf(request.raw),
      status,
      ms: Math.round(reply.elapsedTime),
    });
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
  ): Promise<EarlyRequest<OperationId>> {
    const caller = await callerOf(operation, request);
    if (operation.method !== 'GET' && !ESSENTIAL.has(operation.id as OperationId) && !options.writable()) {
      throw new ApiError('internal', {
        status: 503,
        retryAfterSecs: 30,
        message: 'The disk of the server is full.',
      });
    }
    const params = operation.params ? parsePart(operation.params, request.params) : {};
    const early = {
      params,
      query: {},
      caller,
      ...clientAddress(request.raw),
      overTls: isOverTls(request.raw),
      headers: request.raw.headers,
      raw: request,
      reply,
    };
    const querySchema = operation.query;
    if (querySchema && operation.websocket) {
      // Checks of the operation's own come before this one, so it waits until somebody asks.
      Object.defineProperty(early, 'query', { get: () => parsePart(querySchema, request.query) });
    } else if (querySchema) {
      early.query = parsePart(querySchema, request.query) as object;
    }
    return early as unknown as EarlyRequest<OperationId>;
  }

  async function bodyOf(
    { body, upload }: Operation,
    request: FastifyRequest,
    maxUploadBytes = upload?.defaultMaxBytes ?? 0,
  ): Promise<unknown> {
    if (body) return parsePart(body.schema, await readBody(request.raw, body));
    if (upload) return readUpload(request.raw, request.sentContentType, upload, maxUploadBytes);
    return undefined;
  }

  async function callerOf(operation: Operation, request: FastifyRequest): Promise<Caller | null> {
    if (operation.auth !== 'user' && operation.auth !== 'admin') return null;
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
      const admitted = new WeakMap<FastifyRequest, EarlyRequest<typeof id>>();
      methods.add(operation.method, operation.path);
      fastify.route({
        method: operation.method,
        url: routeUrl(operation.path),
        exposeHeadRoute: operation.method === 'GET' && operation.contentType !== EVENT_STREAM,
        onRequest: async (request, reply) => {
          const early = (await admit(operation, request, reply)) as unknown as EarlyRequest<typeof id>;
          await handleOptions.early?.(early);
          admitted.set(request, early);
        },
        handler: async (request, reply) => {
          const early = admitted.get(request);
          if (!early) throw new Error('the request was not admitted');
          const body = await bodyOf(operation, request, handleOptions.maxUploadBytes);
          const answer = await handler(Object.assign(early, { body }) as OperationRequest<typeof id>);
          return send(operation, answer, reply);
        },
      });
    },
    upgrade(id, handler) {
      const operation = declare(id);
      if (operation === null) return;
      const admitted = new WeakMap<FastifyRequest, EarlyRequest<typeof id>>();
      methods.add(operation.method, operation.path);
      fastify.route({
        method: 'GET',
        exposeHeadRoute: false,
        config: { [UPGRADES]: true },
        url: routeUrl(operation.path),
        onRequest: async (request, reply) => {
          const early = (await admit(operation, request, reply)) as unknown as EarlyRequest<typeof id>;
          await handler.authorize(early, request.ws === true);
          admitted.set(request, early);
          limitPayload(request.raw.socket, handler.maxPayloadBytes);
        },
        handler: async () => {
          throw new ApiError('validation_failed', { message: 'This address is for WebSocket connections.' });
        },
        wsHandler: (socket, request) => {
          const early = admitted.get(request);
          if (early) return handler.open(socket, early);
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

const routeUrl = (path: string): string => path.replace(/\{([^}]+)\}/g, ':$1');

function send<Id extends OperationId>(
  operation: Operation,
  answer: OperationResponse<Id>,
  reply: FastifyReply,
): FastifyReply {
  if ('hijacked' in answer) return reply;
  reply.code(answer.status);
  if (answer.headers) reply.headers(answer.headers);
  if ('raw' in answer) {
    const type = answer.headers?.['content-type'] ?? operation.contentType ?? JSON_TYPE;
    return reply.header('content-type', type).send(answer.raw);
  }
  if (answer.body === undefined) return reply.send();
  return reply.header('content-type', JSON_TYPE).send(JSON.stringify(answer.body));
}
