import type { IncomingHttpHeaders } from 'node:http';
import type { OperationId } from '@footlight/protocol/rest';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, NodeCaller, OperationRequest } from './message/contract.ts';
import { isOverTls } from './message/request.ts';
import type { ClientAddress, ClientAddresses } from './origin/client-address.ts';

const NOTHING = {};

/** Argument of handlers. The client address is computed on demand. */
export class AdmittedRequest {
  readonly raw: FastifyRequest;
  readonly reply: FastifyReply;
  /** The caller as it was last read from the database; after a slow body it is read again. */
  caller: Caller | null;
  readonly node: NodeCaller | null;
  readonly headers: IncomingHttpHeaders;
  readonly overTls: boolean;
  params: object = NOTHING;
  query: object = NOTHING;
  body: unknown = undefined;
  /** See HandleOptions.begin. */
  begun: unknown = undefined;
  readonly #addresses: ClientAddresses;
  #client: ClientAddress | null = null;

  constructor(
    raw: FastifyRequest,
    reply: FastifyReply,
    { caller, node }: { caller: Caller | null; node: NodeCaller | null },
    addresses: ClientAddresses,
  ) {
    this.raw = raw;
    this.reply = reply;
    this.caller = caller;
    this.node = node;
    this.headers = raw.raw.headers;
    this.overTls = isOverTls(raw.raw);
    this.#addresses = addresses;
  }

  get address(): string {
    return this.#from().address;
  }

  get addressKey(): string {
    return this.#from().addressKey;
  }

  get untrustedForwarder(): string | null {
    return this.#from().untrustedForwarder;
  }

  /** The same request, typed by the operation whose schemas parsed it. */
  as<Id extends OperationId, Begun>(): OperationRequest<Id, Begun> {
    return this as unknown as OperationRequest<Id, Begun>;
  }

  #from(): ClientAddress {
    this.#client ??= this.#addresses.of(this.raw.raw);
    return this.#client;
  }
}
