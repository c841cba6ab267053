import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/** Hosts as a Host header may carry them; anything else is not repeated into a header of ours. */
const PLAIN_HOST = /^(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._-]+)(:[0-9]{1,5})?$/;

/**
 * Headers that keep other pages from framing, opening or reading ours, and our pages from loading or running
 * anything that did not come from this server. They stand on every answer, refusals and redirects included.
 *
 * Scripts and styles come from files only, so there is nothing that would need a nonce. HSTS is left to whoever puts
 * a name and a trusted certificate in front: with a certificate signed by itself it would lock people out.
 *
 * Sources: W3C Content Security Policy level 3; OWASP secure headers.
 */
export async function registerSecurityHeaders(fastify: FastifyInstance): Promise<void> {
  await fastify.register(helmet, {
    global: true,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        fontSrc: ["'self'"],
        mediaSrc: ["'self'", 'blob:'],
        workerSrc: ["'self'", 'blob:'],
        manifestSrc: ["'self'"],
        // Not every browser counts the sockets of an origin as 'self'.
        connectSrc: ["'self'", (request) => socketSource(request.headers.host)],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        objectSrc: ["'none'"],
      },
    },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    crossOriginEmbedderPolicy: false,
    originAgentCluster: true,
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: false,
    xContentTypeOptions: true,
    xFrameOptions: { action: 'deny' },
    xXssProtection: false,
    xPoweredBy: false,
  });
}

function socketSource(host: string | undefined): string {
  return host !== undefined && PLAIN_HOST.test(host) ? `ws://${host} wss://${host}` : "'self'";
}
