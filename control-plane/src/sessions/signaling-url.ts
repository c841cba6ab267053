/** URL of the signaling socket from the client's point of view. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

const first = (header: string | string[] | undefined): string | undefined => {
  const value = (Array.isArray(header) ? header[0] : header)?.split(',')[0]?.trim();
  return value === '' ? undefined : value;
};

/**
 * @param overTls whether the request used this server's own TLS
 * @param publicBaseUrl address of the service behind a proxy; null: not configured
 */
export function signalingUrl(
  headers: IncomingHttpHeaders,
  overTls: boolean,
  publicBaseUrl: URL | null,
): string {
  const forwarded = Object.keys(headers).some((name) => name.startsWith('x-forwarded-'));
  if (forwarded && publicBaseUrl !== null)
    return `${publicBaseUrl.protocol === 'https:' ? 'wss' : 'ws'}://${publicBaseUrl.host}/v1/signal`;
  const secure = overTls || first(headers['x-forwarded-proto'])?.toLowerCase() === 'https';
  const host = (forwarded ? first(headers['x-forwarded-host']) : undefined) ?? headers.host ?? 'localhost';
  return `${secure ? 'wss' : 'ws'}://${host}/v1/signal`;
}
