/**
 * The registries that this instance asks, and how each is reached. Pure.
 * Source: docs/containers.md, "Registries".
 */
import type { RegistryHost } from '../../platform/config/config-values.ts';

/** How a registry's API is reached. */
export interface Endpoint {
  /** `https://host[:port]`, or http for loopback. */
  origin: string;
  /** The operator named this host, so that it may have an address of an inner network. */
  isNamed: boolean;
}

/** Docker Hub names its images by another host than the one that serves them. */
const SERVED_BY: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' };

/**
 * @param host of an image's name, lower case
 * @param hosts entries of SERVICE_IMAGE_REGISTRY_HOSTS
 * @returns null: not a registry of this instance
 */
export function endpointOf(host: string, hosts: readonly RegistryHost[]): Endpoint | null {
  const entry = hosts.find((one) => one.host === host);
  if (entry === undefined) return null;
  return { origin: `${entry.scheme}://${SERVED_BY[host] ?? host}`, isNamed: entry.isNamed };
}

/**
 * How the server for tokens that a registry names is reached. A host of the list keeps its scheme and may lie in an
 * inner network; every other one must be a public server with TLS.
 * @returns null: not an address that is asked
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

/** Challenges of large registries have some hundred characters. Chosen with room, not measured. */
const MAX_CHALLENGE_CHARACTERS = 4096;

/** @returns null: another scheme, no realm, or too long. Source: RFC 6750, 3. */
export function parseChallenge(header: string): Challenge | null {
  if (header.length > MAX_CHALLENGE_CHARACTERS || !/^bearer\s/i.test(header)) return null;
  const fields = new Map(
    // Anchored at the beginning of a word; otherwise the search would take quadratic time.
    [...header.matchAll(/(?<![a-z_])([a-z_]+)="([^"]*)"/gi)].map(([, key = '', value = '']) => [
      key.toLowerCase(),
      value,
    ]),
  );
  const realm = fields.get('realm');
  return realm === undefined ? null : { realm, service: fields.get('service') ?? null };
}
