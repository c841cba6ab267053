/** Which address of this service is used in links for people and in the install line for new hosts. Pure. */
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

/** A host name or address with an optional port, without characters that have a meaning for shells or URLs. */
const HOST = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$/;

/**
 * Address of this service for new hosts, as the request or the configuration has it. Pure.
 * @throws ApiError 400 when it is neither configured nor in the request
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

/** Where the address of a link comes from. */
export type LinkSource = 'configured' | 'request' | 'machine';

/**
 * Address of this service for a link that is sent to a person, without a trailing slash. Pure. An administrator at the
 * machine itself works at a loopback address, which works on that machine only, so the machine's own address replaces
 * it if there is one.
 * @param own the machine's addresses that others can reach
 * @param port of the listener that serves pages
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
  // Old routers and guests often lack IPv6.
  const reachable = own.find((each) => !isIPv6(each)) ?? own[0];
  if (reachable === undefined) return { address, source: 'request' };
  const host = isIPv6(reachable) ? `[${reachable}]` : reachable;
  return { address: `${facts.tls ? 'https' : 'http'}://${host}:${port}`, source: 'machine' };
}
