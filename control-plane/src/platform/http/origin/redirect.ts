import type { IncomingHttpHeaders } from 'node:http';
import { ApiError, invalid } from '../../errors.ts';

/** Decision of the plain listener about a request while TLS is on. */
export type PlainVerdict =
  | { kind: 'serve' }
  | { kind: 'redirect'; location: string }
  | { kind: 'refuse'; error: ApiError };

const HTTPS_PORT = 443;
const HEALTH_PATHS = new Set(['/health', '/health/live', '/health/ready']);
const HOST = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?$/;

/**
 * Redirects browsers to HTTPS; agents, health checks and requests from a TLS proxy are served. Pure. The redirect keeps
 * method and body (308), path and query; port 443 is omitted.
 * @param request `url` is the target of the request line
 */
export function decidePlainRequest(
  request: { url: string; headers: IncomingHttpHeaders; isUpgrade: boolean },
  httpsPort: number,
): PlainVerdict {
  const path = request.url.split('?', 1)[0] ?? '';
  if (HEALTH_PATHS.has(path) || path === '/agent/ws' || path.startsWith('/v1/agent/'))
    return { kind: 'serve' };
  if (request.headers['x-forwarded-proto'] === 'https') return { kind: 'serve' };
  if (request.isUpgrade) {
    return { kind: 'refuse', error: new ApiError('https_required', { headers: { connection: 'close' } }) };
  }
  const host = HOST.exec(request.headers.host ?? '')?.[1];
  // Refuse the absolute form of a request line: only proxies need it, and it may name another server than Host.
  if (host === undefined || !request.url.startsWith('/')) {
    return { kind: 'refuse', error: invalid('The Host header does not name a host.') };
  }
  const port = httpsPort === HTTPS_PORT ? '' : `:${httpsPort}`;
  return { kind: 'redirect', location: `https://${host}${port}${request.url}` };
}
