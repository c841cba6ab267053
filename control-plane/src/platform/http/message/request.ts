import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { invalid } from '../../errors.ts';

const MESSAGE_LENGTH = 200;

/**
 * Parses one part of a request by its declared schema.
 * @throws ApiError 400 with the first problem: where it is and what was expected, never the value
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
 * The token of an Authorization header; null when there is none.
 * The scheme's case does not matter, and a token of spaces only is none (RFC 9110, section 11).
 */
export function bearerToken(header: string | undefined): string | null {
  const match = /^bearer (.*)$/i.exec(header ?? '');
  const token = match?.[1]?.trim() ?? '';
  return token === '' ? null : token;
}

/** Whether the request came over this server's own TLS; no header has a say. */
export function isOverTls(request: IncomingMessage): boolean {
  return (request.socket as Partial<TLSSocket> | undefined)?.encrypted === true;
}

/**
 * Whether a request names one Host: of several, proxies and servers may read different ones. HTTP/1.0 needs none.
 * Source: RFC 9112, section 3.2.
 */
export function hasOneHost({ httpVersionMinor, rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0);
}

/** Path of a request without its query, which may hold a token. */
export function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** Path of a request as the router reads it; as it was sent where a part of it cannot be decoded. */
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

/** Takes an answer away from the framework, with the headers that every answer carries already on it. */
export function takeOver(reply: FastifyReply): ServerResponse {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  return reply.raw;
}
