import type { Config } from '../../config/config.ts';
import { reachableAddresses } from '../../tls.ts';
import { type LinkSource, linkAddress } from './instance-address.ts';

/**
 * Address of this service for a link that is sent to a person, without a trailing slash.
 * @param host the Host header of the request
 * @throws ApiError 400 when the address is neither configured nor in the request
 */
export function linkAddressOf(
  config: Pick<Config, 'http' | 'tls'>,
  host: string | undefined,
): { address: string; source: LinkSource } {
  const facts = { publicBaseUrl: config.http.publicBaseUrl, host, tls: config.tls !== null };
  const { port } = config.tls?.listen ?? config.http.listen;
  return linkAddress(facts, reachableAddresses(), port);
}
