/** Chooses the address of this service for links to people and for the install command of new hosts. Pure. */
import { isIPv6 } from 'node:net';
import { invalid } from '../../errors.ts';
import { isLoopbackHost } from './origins.ts';

interface AddressFacts {
  publicBaseUrl: URL | null;
  /** The Host header of the request. */
  host: string | undefined;
  /** Whether this service offers TLS. */
  tls: boolean;
}

/** A host name or address with an optional port, without characters that are special in shells or URLs. */
const HOST = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$/;

/**
 * Address of this service for new hosts, from the configuration or else from the request. Pure.
 * @throws ApiError 400 when the address is neither configured nor in the request
 */
export function instanceAddress({ publicBaseUrl, host, tls }: AddressFacts): string {
  if (publicBaseUrl !== null) return publicBaseUrl.href.replace(/\/+$/, '');
  const address = `${tls ? 'https' : 'http'}://${host}`;
  if (host === undefined || !HOST.test(host) || !URL.canParse(address)) {
    throw invalid(
      'The Host header does not name a host; set PUBLIC_BASE_URL to the address of this service.',
    );
  }
  return address;
}

/** Origin of the address in a link. */
export type LinkSource = 'configured' | 'request' | 'machine';

/**
 * Address of this service for a link that is sent to a person, without a trailing slash. Pure. If the administrator
 * uses a loopback address, which only works on that machine, the machine's own address replaces it if there is one.
 * @param own the machine's addresses that others can reach
 * @param port port of the listener that serves pages
 * @throws ApiError 400 when the address is neither configured nor in the request
 */
export function linkAddress(
  facts: AddressFacts,
  own: readonly string[],
  port: number,
): { address: string; source: LinkSource } {
  const address = instanceAddress(facts);
  if (facts.publicBaseUrl !== null) return { address, source: 'configured' };
  if (!isLoopbackHost(new URL(address).hostname)) return { address, source: 'request' };
  // Prefer IPv4, because old routers and devices of guests often lack IPv6.
  const reachable = own.find((each) => !isIPv6(each)) ?? own[0];
  if (reachable === undefined) return { address, source: 'request' };
  const host = isIPv6(reachable) ? `[${reachable}]` : reachable;
  return { address: `${facts.tls ? 'https' : 'http'}://${host}:${port}`, source: 'machine' };
}
