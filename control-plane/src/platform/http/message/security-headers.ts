import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';

/** Plain host names; other Host values are not repeated in a header. */
const PLAIN_HOST = /^(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._-]+)(:[0-9]{1,5})?$/;

/** Cached host names. An instance has few; invented names of a client evict each other. */
const MAX_HOSTS = 64;

export type Headers = Readonly<Record<string, string>>;

/**
 * Headers that keep other pages from framing, opening or reading ours, and our pages from loading anything that is
 * not from this server. Set on every answer, refusals and redirects included.
 *
 * Scripts and styles are files, so no nonce is needed. HSTS is left to operators with a trusted certificate: with a
 * self-signed certificate it would lock people out.
 *
 * Sources: W3C Content Security Policy level 3; OWASP secure headers.
 */
const CONSTANT: Headers = {
  // Caches in front may ignore that a request had a token. Answers that may be stored replace it.
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
};

/** For answers without a page: nothing may be loaded or framed. */
export const BARE_SECURITY_HEADERS: Headers = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...CONSTANT,
};

/** @param sockets origins of this server's sockets, because not every browser counts them as 'self' */
const policy = (sockets: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    `connect-src 'self' ${sockets}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join(';');

const headersFor = (sockets: string): Headers => ({
  'content-security-policy': policy(sockets),
  ...CONSTANT,
});

/** Sets the headers on every answer. They are computed once per host name. */
export function registerSecurityHeaders(fastify: FastifyInstance): void {
  const nameless = headersFor("'self'");
  const byHost = new LRUCache<string, Headers>({ max: MAX_HOSTS });

  function of(host: string | undefined): Headers {
    if (host === undefined) return nameless;
    let headers = byHost.get(host);
    if (headers === undefined) {
      headers = PLAIN_HOST.test(host) ? headersFor(`ws://${host} wss://${host}`) : nameless;
      byHost.set(host, headers);
    }
    return headers;
  }

  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers(of(request.raw.headers.host));
    done();
  });
}
