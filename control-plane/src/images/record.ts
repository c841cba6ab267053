import type { CatalogImage, ImageCatalog } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { bool, fromJson, instant, instantOrNull } from '../platform/database/index.ts';
import type {
  CatalogImagesTable,
  HostImagesTable,
  ImageCatalogTable,
  InstalledImagesTable,
} from '../platform/database/tables/images.ts';
import { isNewer } from './manifest/version-order.ts';

export type CatalogRow = Selectable<ImageCatalogTable>;
export type CatalogImageRow = Selectable<CatalogImagesTable>;
export type InstalledRow = Selectable<InstalledImagesTable>;
export type HostImageRow = Selectable<HostImagesTable>;

/** The sources from which a host builds a template; `image_build` sends them. */
export interface BuildSource {
  context_url: string;
  context_subdir: string;
  dockerfile: string;
  build_args: Readonly<Record<string, string>>;
}

/** A host in the list; it may have no stored row for the image. */
export interface NamedHost {
  id: string;
  node_name: string;
}

/** @param rows of all hosts for this image. @param hosts all hosts, sorted by name */
export function toImage(
  row: CatalogImageRow,
  installed: InstalledRow | null,
  rows: ReadonlyMap<string, HostImageRow>,
  hosts: readonly NamedHost[],
): CatalogImage {
  return {
    id: row.id,
    display_name: row.display_name,
    description: row.description,
    kind: row.kind,
    version: row.version,
    registry_ref: row.registry_ref,
    registry_digest: row.registry_digest,
    artwork: fromJson(row.artwork),
    library_provider: row.library_provider,
    installed: installed !== null,
    installed_version: installed?.version ?? null,
    pinned: installed !== null && bool(installed.pinned),
    lazy: installed !== null && bool(installed.lazy),
    runtime_preset_id: installed?.runtime_preset_id ?? null,
    update_available: installed !== null && isNewer(row.version, installed.version),
    hosts: hosts.map(({ id, node_name }) => {
      const held = rows.get(id);
      return {
        host_id: id,
        node_name,
        version: held?.version ?? null,
        state: held?.state ?? 'absent',
        progress_pct: held?.progress_pct ?? null,
        error: held?.error ?? null,
        bytes: held?.bytes ?? null,
      };
    }),
  };
}

export function toCatalog(row: CatalogRow, images: readonly CatalogImage[]): ImageCatalog {
  const { sha256, manifest_ref, url } = row;
  return {
    manifest_version: row.manifest_version,
    catalog_ref: row.catalog_ref,
    fetched_at: instantOrNull(row.fetched_at),
    sync_error: row.sync_error,
    manifest_provenance:
      sha256 === null || manifest_ref === null || url === null
        ? null
        : {
            sha256,
            previous_sha256: row.previous_sha256,
            commit_sha: row.commit_sha,
            ref: manifest_ref,
            url,
            changed: bool(row.changed),
            changed_at: row.changed_at === null ? null : instant(row.changed_at),
          },
    images: [...images],
  };
}
