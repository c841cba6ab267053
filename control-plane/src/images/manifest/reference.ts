/**
 * Names of images in registries. Pure.
 * Source: the grammar in distribution/reference (github.com/distribution/reference).
 */

/** `host/name:tag` or `host/name@sha256:…`. */
export interface Reference {
  /** Registry with its port, lower case, as written in the name. */
  host: string;
  /** Path below the registry, such as `example/retro`. */
  name: string;
  /** Tag or digest. */
  target: { tag: string } | { digest: string };
}

const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;
const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Longest image name in an agent's command (`image_ensure.registry_ref`), including its digest. */
const MAX_CHARACTERS = 400;

/**
 * Parses an image name of a manifest. The registry is required; without tag and digest the tag is `latest`.
 * @returns null: the text is not a valid name
 */
export function parseReference(text: string): Reference | null {
  if (text.length > MAX_CHARACTERS) return null;
  const [named = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return null;
  const slash = named.indexOf('/');
  if (slash === -1) return null;
  const host = named.slice(0, slash);
  // Refuse a name whose first part is no host: each host's container engine would add its own default registry.
  if (!HOST.test(host) || !(/[.:]/.test(host) || host === 'localhost')) return null;
  const path = named.slice(slash + 1);
  const colon = path.indexOf(':');
  const name = colon === -1 ? path : path.slice(0, colon);
  const tag = colon === -1 ? 'latest' : path.slice(colon + 1);
  if (!name.split('/').every((part) => PART.test(part)) || !TAG.test(tag)) return null;
  return { host: host.toLowerCase(), name, target: digest === undefined ? { tag } : { digest } };
}

/** Image name with a digest, which always names the same bytes: `host/name@sha256:…`. */
export const byDigest = ({ host, name }: Reference, digest: string): string => `${host}/${name}@${digest}`;
