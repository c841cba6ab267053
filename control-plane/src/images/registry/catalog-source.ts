import { createHash } from 'node:crypto';
import { SECOND_MS } from '@footlight/platform';
import type { Config } from '../../platform/config/config.ts';
import { type Fetcher, FetchRefused } from '../../platform/outgoing/guarded-fetch.ts';
import { type ManifestImage, readManifest } from '../manifest/manifest.ts';
import type { BuildSource } from '../record.ts';

/** Time limit of a fetch. MAX_BYTES: largest accepted manifest (docs/containers.md, "The manifest"). */
const DEADLINE_MS = 15 * SECOND_MS;
const MAX_BYTES = 8 * 1024 * 1024;

/** A git commit id. Unlike a branch it always names the same files. */
const COMMIT = /^[0-9a-f]{40}$/;
const GITHUB_FILES = 'https://raw.githubusercontent.com';

/** A fetched manifest with its origin. */
export interface FetchedManifest {
  images: readonly ManifestImage[];
  /** SHA-256 of the manifest's bytes, hexadecimal. */
  sha256: string;
  /** null: the reference is a branch or a tag, and the server does not report its commit. */
  commitSha: string | null;
  url: string;
}

/** The catalog could not be fetched, or was refused; the message is a sentence for administrators. */
export class CatalogUnusable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CatalogUnusable';
  }
}

/** URL of the manifest at a branch, tag or commit. @returns null: no catalog is configured */
export function manifestUrl({ repo, path, base }: Config['images'], ref: string): string | null {
  if (repo === null) return null;
  const segments = [...repo.split('/'), ref, ...path.split('/')].filter((segment) => segment !== '');
  return `${base.url}/${segments.map(encodeURIComponent).join('/')}`;
}

/**
 * Fetches and reads the manifest. Nothing is stored.
 * @param ref branch, tag or commit
 * @throws CatalogUnusable
 */
export async function fetchManifest(
  config: Config['images'],
  fetcher: Fetcher,
  ref: string,
): Promise<FetchedManifest> {
  const url = manifestUrl(config, ref);
  if (url === null)
    throw new CatalogUnusable('No catalog is configured: SERVICE_IMAGE_CATALOG_REPO is not set.');
  const { base } = config;
  try {
    const { status, bytes } = await fetcher.get(url, {
      maxBytes: MAX_BYTES,
      maxRedirects: 0,
      deadlineMs: DEADLINE_MS,
      reach: base.url.startsWith('http:') ? 'loopback' : base.isNamed ? 'any' : 'public',
    });
    if (status !== 200)
      throw new CatalogUnusable(`The catalog could not be fetched: its server answered ${status}.`);
    const read = readManifest(bytes);
    if ('refused' in read) throw new CatalogUnusable(`The manifest was refused: ${read.refused}.`);
    return {
      images: read.images,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      commitSha: COMMIT.test(ref) ? ref : null,
      url,
    };
  } catch (error) {
    if (error instanceof FetchRefused)
      throw new CatalogUnusable(`The catalog could not be fetched: ${error.message}.`);
    throw error;
  }
}

/**
 * The source from which a host builds a template: a folder in the archive of a commit. GitHub serves such archives; all
 * files are inside one folder that is named after the repository and the commit.
 * @returns null: the image is prebuilt, the commit is unknown, or the server is not GitHub
 */
export function buildSourceOf(
  { repo, base }: Pick<Config['images'], 'repo' | 'base'>,
  image: Pick<ManifestImage, 'kind' | 'dockerfile' | 'build_args'>,
  commitSha: string | null,
): BuildSource | null {
  if (image.kind === 'prebuilt' || image.dockerfile === null) return null;
  if (repo === null || commitSha === null || base.url !== GITHUB_FILES) return null;
  const folders = image.dockerfile.split('/').filter((part) => part !== '' && part !== '.');
  const dockerfile = folders.pop() ?? '';
  return {
    context_url: `https://codeload.github.com/${repo.split('/').map(encodeURIComponent).join('/')}/tar.gz/${commitSha}`,
    context_subdir: [`${repo.split('/').at(-1)}-${commitSha}`, ...folders].join('/'),
    dockerfile,
    build_args: image.build_args,
  };
}
