import type { Flag } from '../codec.ts';

/** Apps, entitlements, and records that apps refer to. */
export interface CatalogTables {
  apps: AppsTable;
  entitlements: EntitlementsTable;
  favourites: FavouritesTable;
  runtime_presets: RuntimePresetsTable;
  catalog_version: CatalogVersionTable;
  catalog_changes: CatalogChangesTable;
}

export interface AppsTable {
  id: string;
  name: string;
  description: string;
  cover_url: string | null;
  hero_url: string | null;
  kind: 'game' | 'desktop' | 'launcher';
  enabled: Flag;
  parent_app_id: string | null;
  external_source: '' | 'steam';
  external_id: string;
  default_width: number;
  default_height: number;
  default_fps: number;
  default_bitrate_kbps: number;
  default_vram_mb: number;
  /** Encode slots that a session of this app books. */
  default_encode_slots: number;
  /** JSON object as the client sent it. */
  runtime_spec: string;
  runtime_preset_id: string | null;
  managed_home: Flag;
  home_container_path: string;
  /** Absolute path on the hosts; null: homes start empty. */
  home_base: string | null;
  default_profile_id: string | null;
  profile_policy: 'inherit' | 'prefer' | 'force';
  origin: 'manual' | 'discovered';
  library_provider: '' | 'steam';
  library_discovery_suspended: Flag;
  /**
   * 1: the first administrator gets an entitlement when the account is created. API answers never contain this field.
   */
  entitle_first_admin: Flag;
  created_at: number;
  updated_at: number;
}

export interface EntitlementsTable {
  id: string;
  subject_type: 'all' | 'user';
  /** null for subject_type all. */
  subject_id: string | null;
  app_id: string;
  granted_by: 'admin' | 'provider' | 'migration';
  granted_by_user: string | null;
  source_ref: string;
  created_at: number;
}

export interface FavouritesTable {
  user_id: string;
  app_id: string;
  created_at: number;
}

export interface RuntimePresetsTable {
  id: string;
  name: string;
  description: string;
  image: string;
  /** JSON string[]. */
  args: string;
  /** JSON object of strings. */
  env: string;
  /** JSON string[]. */
  mounts: string;
  managed_home: Flag;
  home_container_path: string;
  network: '' | 'none' | 'bridge';
  managed_image_id: string | null;
  created_at: number;
  updated_at: number;
}

/** One row with id 1. Every write that can change somebody's app list increments `version`. */
export interface CatalogVersionTable {
  id: number;
  version: number;
}

/** Scope of the newest catalog versions. Both ids null: all lists changed. */
export interface CatalogChangesTable {
  version: number;
  /** The changed or deleted app. */
  app_id: string | null;
  /** The user whose list changed. */
  user_id: string | null;
}
