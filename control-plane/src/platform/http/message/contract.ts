import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Body, OperationId, operations, Params, Query, Success } from '@footlight/protocol/rest';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { PassedUpload, Upload } from './body.ts';
import type { CachedBody } from './cached-body.ts';

/** The account of a bearer token, read from the database for this request. */
export interface Caller {
  userId: string;
  role: 'user' | 'admin';
  tokenId: string;
  deviceId: string | null;
  username: string;
  email: string;
}

/** An authenticated host of an HTTP call. */
export interface NodeCaller {
  hostId: string;
  nodeName: string;
  /** null: the call has no boot id. */
  bootId: string | null;
}

/**
 * Looks up the node credential of a call.
 * @param headers lower-case names
 * @returns null for any error; the caller answers all of them with the same 401
 */
export type AuthenticateNode = (
  headers: Record<string, string | string[] | undefined>,
) => Promise<NodeCaller | null>;

/** Looks up a bearer token; null for an unknown, expired or revoked token, or a disabled account. */
export type Authenticate = (bearer: string) => Promise<Caller | null>;

/**
 * The account of a bearer token. null: the operation uses another credential, which the feature that owns the
 * credential checks.
 */
export type CallerOf<Id extends OperationId> = AuthOf<Id> extends 'user' | 'admin' ? Caller : null;
/** The host of a call with a node credential. */
export type NodeOf<Id extends OperationId> = AuthOf<Id> extends 'node' ? NodeCaller : null;
type AuthOf<Id extends OperationId> = (typeof operations)[Id]['auth'];
type BodyOf<Id extends OperationId> = (typeof operations)[Id] extends { upload: { isPassedOn: true } }
  ? PassedUpload
  : (typeof operations)[Id] extends { upload: object }
    ? Upload
    : Body<Id>;

/** Facts of a request before its body is read. */
export interface EarlyRequest<Id extends OperationId> {
  params: Params<Id>;
  /** Parsed by the operation's query schema. */
  query: Query<Id>;
  caller: CallerOf<Id>;
  /** The host, for operations of hosts. The hosts' socket has no value here, because it has its own checks. */
  node: NodeOf<Id>;
  /** Canonical client address, read through trusted proxies. An IPv4-mapped IPv6 address is given as IPv4. */
  address: string;
  /** Address key for rate limits; an IPv6 address is reduced to its /64. */
  addressKey: string;
  /** Address of an untrusted peer that sent X-Forwarded-For; the header was ignored. null: there is none. */
  untrustedForwarder: string | null;
  overTls: boolean;
  headers: IncomingHttpHeaders;
  raw: FastifyRequest;
  reply: FastifyReply;
}

export interface OperationRequest<Id extends OperationId, Begun = undefined> extends EarlyRequest<Id> {
  /** The result of `HandleOptions.begin`. */
  begun: Begun;
  /** The body as parsed by the operation's schema, or the upload; undefined if neither is declared. */
  body: BodyOf<Id>;
}

export type OperationResponse<Id extends OperationId> =
  | {
      status: number;
      body?: Success<Id>;
      headers?: Record<string, string>;
    }
  /** Sent unchanged, with the operation's content type (default JSON) unless `headers` has one. */
  | { status: number; raw: string | Buffer | Readable; headers?: Record<string, string> }
  /** Cached bytes, sent plain or compressed; requires `compress: false`. */
  | { status: number; kept: CachedBody; headers?: Record<string, string> }
  /** The handler has taken over the connection with `hijack(reply)`. */
  | { hijacked: true };

export interface HandleOptions<Id extends OperationId, Begun = undefined> {
  /** Runs after authentication and path check and before the body is read: rate limits, credentials in headers. */
  early?: (request: EarlyRequest<Id>) => Promise<void> | void;
  /**
   * Called before the caller is looked up. Starts a read that does not depend on the caller, so that on Postgres the
   * request waits for one round trip instead of two. A refused request ignores the result.
   */
  begin?: () => Begun;
  /** Maximum bytes of an upload; missing: the declared limit applies. */
  maxUploadBytes?: number;
  /** Answers are cached bodies with their own compression. */
  compress?: false;
}

export interface UpgradeHandler<Id extends OperationId> {
  /** Maximum message size; a longer message closes the socket with 1009. */
  maxPayloadBytes: number;
  /**
   * Checks before the upgrade, in the operation's order; throws ApiError to refuse. Also called for a request without
   * an upgrade (`isUpgrade` false), which is refused with 400 afterwards. Reading `request.query` throws 400 for an
   * invalid query, so earlier checks can come first.
   */
  authorize(request: EarlyRequest<Id>, isUpgrade: boolean): Promise<void> | void;
  /** Called when the socket is open. Add message listeners before the first await, otherwise messages are lost. */
  open(socket: WebSocket, request: EarlyRequest<Id>): Promise<void> | void;
}
