import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { acceptsGzip } from './accept-encoding.ts';

/** Shorter answers gain nothing by being compressed. */
export const COMPRESS_FROM_BYTES = 1024;

const compress = promisify(gzip);

/** The body of an answer that is sent many times: its bytes, and the same compressed once somebody takes them so. */
export class KeptBody {
  readonly plain: Buffer;
  #compressed: Promise<Buffer> | null = null;

  constructor(body: string | Buffer) {
    this.plain = typeof body === 'string' ? Buffer.from(body) : body;
  }

  compressed(): Promise<Buffer> {
    this.#compressed ??= compress(this.plain);
    return this.#compressed;
  }

  /** Bytes that it may come to hold: text never grows by being compressed. */
  get maxBytes(): number {
    return 2 * this.plain.length;
  }
}

/** Sends it as the client takes it, on a route that compresses nothing by itself. */
export function sendKept(body: KeptBody, reply: FastifyReply): FastifyReply | Promise<FastifyReply> {
  if (body.plain.length < COMPRESS_FROM_BYTES) return reply.send(body.plain);
  reply.header('vary', 'accept-encoding');
  if (!acceptsGzip(reply.request.raw.headers['accept-encoding'])) return reply.send(body.plain);
  return body.compressed().then((bytes) => reply.header('content-encoding', 'gzip').send(bytes));
}
