import type { Flag } from '../codec.ts';

/** The image catalog, what is installed of it, and what hosts have. */
export interface ImagesTables {
  image_catalog: ImageCatalogTable;
  catalog_images: CatalogImagesTable;
  installed_images: InstalledImagesTable;
  host_images: HostImagesTable;
}

/** One row with id 1. Every change of the catalog or of an installation locks it first. */
export interface ImageCatalogTable {
  id: number;
  /** Branch, tag or commit of the catalog. */
  catalog_ref: string;
  /** null before the first manifest, like the columns up to `url`. */
  manifest_version: number | null;
  fetched_at: number | null;
  sha256: string | null;
  commit_sha: string | null;
  /** Reference and address that the manifest came from. */
  manifest_ref: string | null;
  url: string | null;
  /** Manifest before the last change; null while there was no other. */
  previous_sha256: string | null;
  /** 1: the last synchronisation brought another manifest. */
  changed: Flag;
  changed_at: number | null;
  /** Of the last synchronisation; null: nothing went wrong. */
  sync_error: string | null;
}

/** An image of the last manifest. */
export interface CatalogImagesTable {
  id: string;
  display_name: string;
  description: string;
  kind: 'prebuilt' | 'template';
  version: string;
  /** null for a template. */
  registry_ref: string | null;
  /** `name@sha256:…`; null until resolved. */
  registry_digest: string | null;
  /** JSON {url, subdir, dockerfile, args} of a template; null: prebuilt, or the commit is not known. */
  build: string | null;
  /** JSON object. */
  artwork: string;
  /** JSON of the runtime block; null: none. */
  runtime: string | null;
  library_provider: string | null;
}

/** An installed image. It outlives its disappearance from the catalog. */
export interface InstalledImagesTable {
  image_id: string;
  version: string;
  /** `name@sha256:…` of this version; null for a template. */
  registry_ref: string | null;
  /** `service-local/<id>:<version>` of a template; null: prebuilt. */
  local_tag: string | null;
  /** JSON of what a template of this version is built from; null: prebuilt. */
  build: string | null;
  lazy: Flag;
  pinned: Flag;
  runtime_preset_id: string | null;
  installed_at: number;
}

/** What a host last reported of an installed image; without a row the image is absent. */
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
