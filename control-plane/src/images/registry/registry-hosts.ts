/**
 * Decides which registries this instance contacts, and by which URL. Pure. Source: docs/containers.md, "Registries".
 */
import type { RegistryHost } from '../../platform/config/config-values.ts';

/** URL of a registry's API. */
export interface Endpoint {
  /** `https://host[:port]`, or http for loopback. */
  origin: string;
  /** Whether the operator named this host. Then it may have an address of a private network. */
  isNamed: boolean;
}

/** Image names of Docker Hub contain another host than the one that serves its API. */
const SERVED_BY: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' };

/**
 * @param host in an image's name, lower case
 * @param hosts entries of SERVICE_IMAGE_REGISTRY_HOSTS
 * @returns null: the host is not in the list
 */
export function endpointOf(host: string, hosts: readonly RegistryHost[]): Endpoint | null {
  const entry = hosts.find((one) => one.host === host);
  if (entry === undefined) return null;
  return { origin: `${entry.scheme}://${SERVED_BY[host] ?? host}`, isNamed: entry.isNamed };
}

/**
 * URL of the token server that a registry names. A host of the list keeps its scheme and may be in a private network.
 * Every other host must be a public server with TLS.
 * @returns null: the address must not be contacted
 */
export function endpointOfRealm(realm: string, hosts: readonly RegistryHost[]): Endpoint | null {
  if (!URL.canParse(realm)) return null;
  const url = new URL(realm);
  if (url.username !== '' || url.password !== '') return null;
  const entry = hosts.find((one) => `${one.scheme}://${one.host}` === url.origin);
  if (entry !== undefined) return { origin: url.origin, isNamed: entry.isNamed };
  return url.protocol === 'https:' ? { origin: url.origin, isNamed: false } : null;
}

/** A challenge of WWW-Authenticate for a bearer token. */
export interface Challenge {
  realm: string;
  service: string | null;
}

/**
 * Longest parsed challenge. Challenges of large registries have a few hundred characters; the limit is chosen, not
 * measured.
 */
const MAX_CHALLENGE_CHARACTERS = 4096;

/** @returns null: the header has another scheme or no realm, or is too long. Source: RFC 6750, 3. */
export function parseChallenge(header: string): Challenge | null {
  if (header.length > MAX_CHALLENGE_CHARACTERS || !/^bearer\s/i.test(header)) return null;
  const fields = new Map(
    // The pattern matches only at the beginning of a word; otherwise the search would need quadratic time.
    [...header.matchAll(/(?<![a-z_])([a-z_]+)="([^"]*)"/gi)].map(([, key = '', value = '']) => [
      key.toLowerCase(),
      value,
    ]),
  );
  const realm = fields.get('realm');
  return realm === undefined ? null : { realm, service: fields.get('service') ?? null };
}
