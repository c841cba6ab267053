import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';

/** Plain host names; other Host values are not repeated in a header. */
const PLAIN_HOST = /^(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._-]+)(:[0-9]{1,5})?$/;

/** Maximum cached host names. An instance has only a few; invented names from clients evict each other. */
const MAX_HOSTS = 64;

export type Headers = Readonly<Record<string, string>>;

/**
 * These headers prevent other sites from framing, opening or reading our pages, and our pages from loading anything
 * from other servers. They are set on every answer, also on refusals and redirects.
 *
 * Scripts and styles are files, so no nonce is needed. HSTS is not set, because with a self-signed certificate it would
 * lock people out. Operators with a trusted certificate can add it.
 *
 * Sources: W3C Content Security Policy level 3; OWASP secure headers.
 */
const CONSTANT: Headers = {
  // A cache in front of this server may ignore that a request had a token. Answers that may be stored replace this
  // value.
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

/** Headers for answers that are not a page: nothing may be loaded or framed. */
export const BARE_SECURITY_HEADERS: Headers = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...CONSTANT,
};

/** @param sockets origins of this server's sockets, because not every browser includes them in 'self' */
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
