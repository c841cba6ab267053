import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { acceptsGzip } from './accept-encoding.ts';

/** Shorter answers do not shrink by compression. */
export const COMPRESS_FROM_BYTES = 1024;

const compress = promisify(gzip);

/** A cached body: its bytes, compressed on first demand. */
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

  /** Upper bound of its bytes; compressed text never grows. */
  get maxBytes(): number {
    return 2 * this.plain.length;
  }
}

/** Sends the body plain or compressed. For routes without automatic compression. */
export function sendKept(body: KeptBody, reply: FastifyReply): FastifyReply | Promise<FastifyReply> {
  if (body.plain.length < COMPRESS_FROM_BYTES) return reply.send(body.plain);
  reply.header('vary', 'accept-encoding');
  if (!acceptsGzip(reply.request.raw.headers['accept-encoding'])) return reply.send(body.plain);
  return body.compressed().then((bytes) => reply.header('content-encoding', 'gzip').send(bytes));
}
