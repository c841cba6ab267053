import { SECOND_MS } from '@footlight/platform';
import pLimit from 'p-limit';
import { fromJson, type Tx, toJson } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import type { ManifestImage } from './manifest/manifest.ts';
import type { CatalogRow } from './record.ts';
import { buildSourceOf, CatalogUnusable, type FetchedManifest } from './registry/catalog-source.ts';
import { type DigestResolver, Unresolved } from './registry/digest-resolver.ts';
import * as store from './store.ts';

/** Maximum concurrent requests for digests. Chosen, not measured. */
const RESOLVED_AT_ONCE = 4;
/** Time limit for all digests together, because a person waits for the answer. Chosen, not measured. */
const RESOLVE_BUDGET_MS = 60 * SECOND_MS;
/** Longest `sync_error`. */
const MAX_ERROR_CHARACTERS = 500;

export interface SyncDeps {
  /** Fetches the manifest of a branch, tag or commit. @throws CatalogUnusable */
  fetchManifest(ref: string): Promise<FetchedManifest>;
  resolver: DigestResolver;
  /** Rewrites the preset of an installed image whose run settings changed without a new version. */
  rewritePreset(tx: Tx, imageId: string): Promise<void>;
}

/**
 * Updates the catalog: stores the manifest in one transaction, then the digests one by one. A manifest that cannot be
 * fetched or is refused, and digests that cannot be resolved, become `sync_error`; stored digests then stay.
 * @returns whether a manifest was accepted, and `sync_error`
 * @throws only when the database fails
 */
export async function syncCatalog(
  platform: Pick<Platform, 'clock' | 'config' | 'database'>,
  deps: SyncDeps,
): Promise<{ taken: boolean; sync_error: string | null }> {
  const { clock, database } = platform;
  const { catalog_ref } = await store.loadCatalog(database.db);
  let fetched: FetchedManifest;
  try {
    fetched = await deps.fetchManifest(catalog_ref);
  } catch (error) {
    if (!(error instanceof CatalogUnusable)) throw error;
    const sync_error = cut(error.message);
    await store.updateCatalog(database.db, { sync_error, changed: 0 });
    return { taken: false, sync_error };
  }
  await database.transaction((tx) => takeManifest(platform, deps, tx, fetched, catalog_ref));
  const unresolved = await resolveDigests(platform, deps.resolver);
  const sync_error =
    unresolved.length === 0
      ? null
      : cut(
          `The digests of these images could not be found out, and stay as they were: ${unresolved.join('; ')}.`,
        );
  await store.updateCatalog(database.db, { sync_error });
  return { taken: true, sync_error };

  /** Cuts by whole characters, so that both databases store the same text. */
  function cut(text: string): string {
    return [...text].slice(0, MAX_ERROR_CHARACTERS).join('');
  }

  async function takeManifest(
    { config }: Pick<Platform, 'config'>,
    { rewritePreset }: SyncDeps,
    tx: Tx,
    manifest: FetchedManifest,
    ref: string,
  ): Promise<void> {
    const row = await store.lockCatalog(tx);
    const former = new Map((await store.listCatalogImages(tx)).map((image) => [image.id, image]));
    await store.replaceCatalogImages(tx, manifest.images, (image) =>
      buildSourceOf(config.images, image, manifest.commitSha),
    );
    const installed = new Map((await store.listInstalled(tx)).map((image) => [image.image_id, image]));
    for (const image of manifest.images) {
      const before = former.get(image.id);
      const runtime = image.runtime === null ? null : toJson(image.runtime);
      if (before === undefined || runtime === null || before.runtime === runtime) continue;
      if (installed.get(image.id)?.version === image.version) await rewritePreset(tx, image.id);
    }
    await store.updateCatalog(tx, provenanceOf(row, manifest, ref, clock.nowMs()));
  }
}

/** The catalog columns to store for this manifest. `previous_sha256` belongs to the manifest before the last change. */
function provenanceOf(
  row: CatalogRow,
  { sha256, commitSha, url }: FetchedManifest,
  ref: string,
  nowMs: number,
) {
  const isChanged = row.sha256 !== null && row.sha256 !== sha256;
  return {
    manifest_version: 1,
    fetched_at: nowMs,
    sha256,
    commit_sha: commitSha,
    manifest_ref: ref,
    url,
    changed: isChanged ? (1 as const) : (0 as const),
    ...(isChanged && { previous_sha256: row.sha256, changed_at: nowMs }),
  };
}

/**
 * Resolves the current digest of each image at its registry. @returns "ID (reason)" for each image whose digest could
 * not be resolved; its stored digest is kept
 */
async function resolveDigests(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  resolver: DigestResolver,
): Promise<string[]> {
  const endsAtMs = clock.monotonicMs() + RESOLVE_BUDGET_MS;
  const limit = pLimit(RESOLVED_AT_ONCE);
  const images = await store.listCatalogImages(database.db);
  const clauses = await Promise.all(
    images.map((image) =>
      limit(async () => {
        if (image.registry_ref === null) return [];
        try {
          if (clock.monotonicMs() >= endsAtMs) throw new Unresolved('the registries took too long');
          const digest = await resolver.resolve(image.registry_ref);
          if (digest !== image.registry_digest) await store.setDigest(database.db, image, digest);
          return [];
        } catch (error) {
          if (!(error instanceof Unresolved)) throw error;
          return [`${image.id} (${error.message})`];
        }
      }),
    ),
  );
  return clauses.flat();
}

/** The runtime block of a stored image; null: it has none. */
export const runtimeOf = ({ runtime }: { runtime: string | null }): ManifestImage['runtime'] =>
  runtime === null ? null : fromJson(runtime);
