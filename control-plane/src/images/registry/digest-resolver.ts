/**
 * Requests the digests of tags from registries by the HTTP API of distribution, version 2, with anonymous tokens.
 * Source: github.com/opencontainers/distribution-spec, "Pulling manifests"; distribution, "Token Authentication".
 */
import { createHash } from 'node:crypto';
import { type Clock, SECOND_MS } from '@footlight/platform';
import { isJsonObject } from '@footlight/protocol';
import type { RegistryHost } from '../../platform/config/config-values.ts';
import { type Fetched, type Fetcher, FetchRefused } from '../../platform/outgoing/guarded-fetch.ts';
import { byDigest, parseReference, type Reference } from '../manifest/reference.ts';
import { type Endpoint, endpointOf, endpointOfRealm, parseChallenge } from './registry-hosts.ts';

/** Time limit for all requests about one image together. */
const DEADLINE_MS = 5 * SECOND_MS;
/** Largest manifest. Source: the distribution specification lets registries refuse larger ones. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
/** Largest JSON answer with a token. Tokens of large registries have 3 to 5 kB; the limit is chosen, not measured. */
const MAX_TOKEN_BYTES = 64 * 1024;

/** Accepted manifests of a tag: one image, or a list of images for several processor types. */
const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

/** A digest could not be resolved; the message is a clause for administrators. */
export class Unresolved extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Unresolved';
  }
}

/** Resolves the digests of images. It keeps no state between two calls. */
export interface DigestResolver {
  /**
   * @param registryRef image name with a tag, or with a digest, which is returned unchanged
   * @returns `host/name@sha256:…`, with a digest that is computed here from the received bytes
   * @throws Unresolved
   */
  resolve(registryRef: string): Promise<string>;
}

/** @param deps.hosts registries that may be contacted */
export function createDigestResolver(deps: {
  clock: Clock;
  fetcher: Fetcher;
  hosts: readonly RegistryHost[];
}): DigestResolver {
  const { clock, fetcher, hosts } = deps;

  async function resolveTag(reference: Reference, tag: string, endpoint: Endpoint): Promise<string> {
    const endsAtMs = clock.monotonicMs() + DEADLINE_MS;
    const get = (at: Endpoint, path: string, maxBytes: number, headers: Record<string, string>) =>
      fetcher.get(`${at.origin}${path}`, {
        maxBytes,
        maxRedirects: 0,
        deadlineMs: Math.max(1, endsAtMs - clock.monotonicMs()),
        reach: at.origin.startsWith('http:') ? 'loopback' : at.isNamed ? 'any' : 'public',
        headers,
      });
    const path = `/v2/${reference.name}/manifests/${tag}`;
    const accept = { accept: MANIFEST_TYPES.join(', ') };

    async function token(challenged: Fetched): Promise<string> {
      const challenge = parseChallenge(challenged.header('www-authenticate'));
      if (challenge === null) throw new Unresolved('the registry asks for a password');
      const realm = endpointOfRealm(challenge.realm, hosts);
      if (realm === null) throw new Unresolved('the registry names no server for tokens that may be asked');
      const url = new URL(challenge.realm);
      if (challenge.service !== null) url.searchParams.set('service', challenge.service);
      url.searchParams.set('scope', `repository:${reference.name}:pull`);
      const answer = await get(realm, url.pathname + url.search, MAX_TOKEN_BYTES, {
        accept: 'application/json',
      });
      return readToken(answer);
    }

    let answer = await get(endpoint, path, MAX_MANIFEST_BYTES, accept);
    if (answer.status === 401) {
      // Tried only once: if a registry refuses its own token, the request is not repeated.
      const authorization = `Bearer ${await token(answer)}`;
      answer = await get(endpoint, path, MAX_MANIFEST_BYTES, { ...accept, authorization });
    }
    return readDigest(answer);
  }

  return {
    async resolve(registryRef) {
      const reference = parseReference(registryRef);
      if (reference === null) throw new Unresolved('its name is none of a registry');
      // Hosts pull from this registry, so the registry of a name with a digest must also be on the list.
      const endpoint = endpointOf(reference.host, hosts);
      if (endpoint === null)
        throw new Unresolved(`${reference.host} is not one of SERVICE_IMAGE_REGISTRY_HOSTS`);
      if ('digest' in reference.target) return byDigest(reference, reference.target.digest);
      try {
        return byDigest(reference, await resolveTag(reference, reference.target.tag, endpoint));
      } catch (error) {
        if (error instanceof FetchRefused) throw new Unresolved(error.message);
        throw error;
      }
    },
  };
}

/** @throws Unresolved */
function readDigest(answer: Fetched): string {
  if (answer.status === 404) throw new Unresolved('the registry has no such tag');
  if (answer.status === 401 || answer.status === 403) throw new Unresolved('the registry refuses access');
  if (answer.status !== 200) throw new Unresolved(`the registry answered ${answer.status}`);
  if (!MANIFEST_TYPES.includes(answer.mediaType))
    throw new Unresolved('the registry answered something else than an image');
  const document = parseJson(answer.bytes);
  if (!isJsonObject(document) || document.schemaVersion !== 2)
    throw new Unresolved('the registry answered something else than an image');
  if (document.mediaType !== undefined && document.mediaType !== answer.mediaType)
    throw new Unresolved('the registry contradicts itself about the type of the image');
  const digest = `sha256:${createHash('sha256').update(answer.bytes).digest('hex')}`;
  const claimed = answer.header('docker-content-digest');
  if (claimed !== '' && claimed !== digest)
    throw new Unresolved('the registry names another digest than that of its answer');
  return digest;
}

/** Characters that a token may contain. Source: RFC 6750, 2.1. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

/** @throws Unresolved */
function readToken(answer: Fetched): string {
  const refused = () => new Unresolved('the registry gives no token');
  if (answer.status !== 200) throw refused();
  const document = parseJson(answer.bytes);
  if (!isJsonObject(document)) throw refused();
  const token = document.token ?? document.access_token;
  if (typeof token !== 'string' || !TOKEN.test(token)) throw refused();
  return token;
}

/** @returns undefined when the bytes are not JSON */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
