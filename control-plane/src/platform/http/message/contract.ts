import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Body, OperationId, operations, Params, Query, Success } from '@footlight/protocol/rest';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { Upload } from './body.ts';
import type { KeptBody } from './kept-body.ts';

/** Who a bearer token speaks for, read from the database for this request. */
export interface Caller {
  userId: string;
  role: 'user' | 'admin';
  tokenId: string;
  deviceId: string | null;
  username: string;
  email: string;
}

/** Looks a bearer token up; null for unknown, expired, revoked, or an account that may not sign in. */
export type Authenticate = (bearer: string) => Promise<Caller | null>;

/** The kinds of authentication that are not a bearer token; the feature that owns the credential checks it. */
export type CallerOf<Id extends OperationId> = AuthOf<Id> extends 'user' | 'admin' ? Caller : null;
type AuthOf<Id extends OperationId> = (typeof operations)[Id]['auth'];
type BodyOf<Id extends OperationId> = (typeof operations)[Id] extends { upload: object } ? Upload : Body<Id>;

/** What is known before the body is read. */
export interface EarlyRequest<Id extends OperationId> {
  params: Params<Id>;
  /** Parsed by the operation's query schema. */
  query: Query<Id>;
  caller: CallerOf<Id>;
  /** Client address in canonical form, through trusted proxies (IPv4-mapped IPv6 is IPv4). */
  address: string;
  /** Key of the address for limits: IPv6 by its /64. */
  addressKey: string;
  /** The peer, where it sent X-Forwarded-For and is no trusted proxy: the header was not read. */
  untrustedForwarder: string | null;
  overTls: boolean;
  headers: IncomingHttpHeaders;
  raw: FastifyRequest;
  reply: FastifyReply;
}

export interface OperationRequest<Id extends OperationId> extends EarlyRequest<Id> {
  /** Parsed by the operation's body schema, or the upload; undefined where neither is declared. */
  body: BodyOf<Id>;
}

export type OperationResponse<Id extends OperationId> =
  | {
      status: number;
      body?: Success<Id>;
      headers?: Record<string, string>;
    }
  /** Sent as it is, with the operation's content type (JSON unless declared) where `headers` name none. */
  | { status: number; raw: string | Buffer | Readable; headers?: Record<string, string> }
  /** Bytes that are sent many times, plain or compressed as the client takes them; with `compress: false`. */
  | { status: number; kept: KeptBody; headers?: Record<string, string> }
  /** The handler took the connection with `takeOver(reply)` and owns it now. */
  | { hijacked: true };

export interface HandleOptions<Id extends OperationId> {
  /** Runs after authentication and the path check and before the body is read: rate limits, credentials in headers. */
  early?: (request: EarlyRequest<Id>) => Promise<void> | void;
  /** Cap of an upload in bytes; left out: the declared one. */
  maxUploadBytes?: number;
  /** Its answers are not compressed on their way out: they are kept bodies, which come compressed. */
  compress?: false;
}

export interface UpgradeHandler<Id extends OperationId> {
  /** Largest message that is accepted; a longer one closes the socket with 1009. */
  maxPayloadBytes: number;
  /**
   * Refusals before the upgrade, in the operation's own order: throw ApiError. A request that is no upgrade comes here
   * too (`isUpgrade` false) and is refused with 400 afterwards, whatever this says. Reading `request.query` throws 400
   * where the query does not fit its schema, so that checks which come before it can.
   */
  authorize(request: EarlyRequest<Id>, isUpgrade: boolean): Promise<void> | void;
  /** The socket is open. Register message listeners before the first await, or messages are lost. */
  open(socket: WebSocket, request: EarlyRequest<Id>): Promise<void> | void;
}
