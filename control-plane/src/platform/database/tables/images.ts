import type { Flag } from '../codec.ts';

/** The image catalog, installed images, and their state on hosts. */
export interface ImagesTables {
  image_catalog: ImageCatalogTable;
  catalog_images: CatalogImagesTable;
  installed_images: InstalledImagesTable;
  host_images: HostImagesTable;
}

/** One row with id 1. Every change of the catalog or of an installed image locks the row first. */
export interface ImageCatalogTable {
  id: number;
  /** Branch, tag or commit of the catalog. */
  catalog_ref: string;
  /** null before the first manifest; the same is true for the columns up to `url`. */
  manifest_version: number | null;
  fetched_at: number | null;
  sha256: string | null;
  commit_sha: string | null;
  /** Git reference and URL from which the manifest was fetched. */
  manifest_ref: string | null;
  url: string | null;
  /** SHA-256 of the manifest before the last change; null: there was only one manifest. */
  previous_sha256: string | null;
  /** 1: the manifest changed at the last synchronisation. */
  changed: Flag;
  changed_at: number | null;
  /** Error of the last synchronisation; null: there was no error. */
  sync_error: string | null;
}

/** An image of the last manifest. */
export interface CatalogImagesTable {
  id: string;
  display_name: string;
  description: string;
  kind: 'prebuilt' | 'template';
  version: string;
  /** Name in the registry; null for a template. */
  registry_ref: string | null;
  /** `name@sha256:…`; null until resolved. */
  registry_digest: string | null;
  /** JSON {url, subdir, dockerfile, args} of a template; null: the image is prebuilt, or the commit is unknown. */
  build: string | null;
  /** JSON object. */
  artwork: string;
  /** Run settings as JSON; null: the manifest has none. */
  runtime: string | null;
  library_provider: string | null;
}

/** An installed image. It stays when it disappears from the catalog. */
export interface InstalledImagesTable {
  image_id: string;
  version: string;
  /** `name@sha256:…` of this version; null for a template. */
  registry_ref: string | null;
  /** `service-local/<id>:<version>` of a template; null: the image is prebuilt. */
  local_tag: string | null;
  /** JSON of the sources for building a template of this version; null: the image is prebuilt. */
  build: string | null;
  lazy: Flag;
  pinned: Flag;
  runtime_preset_id: string | null;
  installed_at: number;
}

/** State of an installed image that a host last reported. Without a row the image is absent. */
export interface HostImagesTable {
  host_id: string;
  image_id: string;
  version: string | null;
  state: 'absent' | 'pulling' | 'building' | 'ready' | 'failed';
  progress_pct: number | null;
  error: string | null;
  bytes: number | null;
  updated_at: number;
}
