import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { invalid } from '../../errors.ts';

const MESSAGE_LENGTH = 200;

/**
 * Parses one part of a request by its declared schema.
 * @throws ApiError 400 that names the position of the first error and the expected form, but never the value
 */
export function parsePart(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const place = issue?.path.map(String).join('.') ?? '';
  const sentence = [place, issue?.message ?? 'The request is not valid.']
    .filter((part) => part !== '')
    .join(': ');
  throw invalid(sentence.slice(0, MESSAGE_LENGTH));
}

/**
 * Token of an Authorization header; null without a token. The scheme is case-insensitive, and a token of spaces counts
 * as missing (RFC 9110, section 11).
 */
export function bearerToken(header: string | undefined): string | null {
  const match = /^bearer (.*)$/i.exec(header ?? '');
  const token = match?.[1]?.trim() ?? '';
  return token === '' ? null : token;
}

/** Whether the request used this server's own TLS, read from the socket, not from headers. */
export function isOverTls(request: IncomingMessage): boolean {
  return (request.socket as Partial<TLSSocket> | undefined)?.encrypted === true;
}

/**
 * Whether a request has exactly one Host header. With several, a proxy and this server could use different ones.
 * HTTP/1.0 needs no Host header. Source: RFC 9112, section 3.2.
 */
export function hasOneHost({ httpVersionMinor, rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0);
}

/** Path of a request without the query, which may contain a token. */
export function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** Decoded path of a request as the router reads it; the raw path if a part cannot be decoded. */
export function decodedPathOf(request: IncomingMessage): string {
  const parts = pathOf(request).split('/');
  return parts.map(decodedOrAsIs).join('/');
}

function decodedOrAsIs(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Takes over an answer from the framework and keeps the common headers. */
export function hijack(reply: FastifyReply): ServerResponse {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  return reply.raw;
}
