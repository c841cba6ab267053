import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';

/** Hosts as a Host header may carry them; anything else is not repeated into a header of ours. */
const PLAIN_HOST = /^(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._-]+)(:[0-9]{1,5})?$/;

/** Names that one instance is reached by are few; a client that makes names up pushes out its own. */
const HOSTS_KEPT = 64;

export type Headers = Readonly<Record<string, string>>;

/**
 * Headers that keep other pages from framing, opening or reading ours, and our pages from loading or running
 * anything that did not come from this server. They stand on every answer, refusals and redirects included.
 *
 * Scripts and styles come from files only, so there is nothing that would need a nonce. HSTS is left to the operator who puts
 * a name and a trusted certificate in front: with a certificate signed by itself it would lock people out.
 *
 * Sources: W3C Content Security Policy level 3; OWASP secure headers.
 */
const CONSTANT: Headers = {
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

/** For answers that no page of ours is behind: nothing may be loaded, nothing framed. */
export const BARE_SECURITY_HEADERS: Headers = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...CONSTANT,
};

/** @param sockets origins of this server's own sockets: not every browser counts them as 'self' */
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

/** Sets them on whatever is answered. They are worked out once for each name that the server is reached by. */
export function registerSecurityHeaders(fastify: FastifyInstance): void {
  const nameless = headersFor("'self'");
  const byHost = new LRUCache<string, Headers>({ max: HOSTS_KEPT });

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
