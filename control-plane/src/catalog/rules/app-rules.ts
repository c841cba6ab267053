/** Applies a write to an app, and decides which writes are refused. Pure. Source: docs/apps.md. */
import { APP_DEFAULTS, DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import type { Body, ErrorCode, RuntimeSpec } from '@footlight/protocol/rest';
import type { AppsTable } from '../../platform/database/tables/catalog.ts';
import { refuseMounts } from './mount-policy.ts';

/** Who gets the entitlement to a new app: everybody, no account, or the first administrator (seed file only). */
export interface NewAppAudience {
  entitle: 'all' | 'none' | 'first_admin';
  /** null: no account granted it. */
  grantedBy: string | null;
}

/** Columns of an app that no request can set. */
type OwnColumns =
  | 'id'
  | 'hero_url'
  | 'origin'
  | 'library_discovery_suspended'
  | 'entitle_first_admin'
  | 'created_at'
  | 'updated_at';

/** An app with booleans and objects, before it is converted to database columns. */
export type AppFields = Omit<AppsTable, OwnColumns | 'enabled' | 'managed_home' | 'runtime_spec'> & {
  enabled: boolean;
  managed_home: boolean;
  runtime_spec: RuntimeSpec;
};

export const NEW_APP: Omit<AppFields, 'name'> = {
  description: '',
  cover_url: null,
  kind: 'game',
  enabled: true,
  parent_app_id: null,
  external_source: '',
  external_id: '',
  ...APP_DEFAULTS,
  default_vram_mb: 1024,
  runtime_spec: {},
  runtime_preset_id: null,
  managed_home: false,
  home_container_path: DEFAULT_HOME_PATH,
  home_base: null,
  default_profile_id: null,
  profile_policy: 'inherit',
  library_provider: '',
};

/** Fields that create, update and the seed file have in common. */
export type AppPatch = Body<'apps.update'>;

/**
 * The app with the request's fields applied. Missing keys change nothing; "" sets home_container_path and
 * profile_policy to their defaults, and removes the cover.
 */
export function applyPatch(base: AppFields, patch: AppPatch): AppFields {
  const next = { ...base };
  for (const key of Object.keys(base) as (keyof AppFields)[]) {
    if (patch[key] !== undefined) Object.assign(next, { [key]: patch[key] });
  }
  if (patch.cover_url === '') next.cover_url = null;
  if (patch.home_container_path === '') next.home_container_path = DEFAULT_HOME_PATH;
  if (patch.profile_policy === '') next.profile_policy = 'inherit';
  return next;
}

/** A new tile without a profile choice copies the choice of its parent. Later changes of the parent have no effect. */
export function inheritFromParent(fields: AppFields, patch: AppPatch, parent: AppFields | null): AppFields {
  if (!parent) return fields;
  return {
    ...fields,
    ...(patch.default_profile_id === undefined && { default_profile_id: parent.default_profile_id }),
    ...(patch.profile_policy === undefined && { profile_policy: parent.profile_policy }),
  };
}

/** The error in an app's own fields; null: they are valid. The text names the field. */
export function refuseFields(fields: AppFields): string | null {
  const refusedMount = refuseMounts('runtime_spec.mounts', fields.runtime_spec.mounts);
  if (refusedMount !== null) return refusedMount;
  if (fields.parent_app_id === null) {
    const { home_base, managed_home, runtime_preset_id } = fields;
    // With a preset, only the launch knows whether the app has homes.
    const lacksHome = home_base !== null && !managed_home && runtime_preset_id === null;
    return lacksHome ? 'home_base: needs managed_home' : null;
  }
  if (fields.library_provider !== '') return 'library_provider: a tile has none';
  if (fields.external_source === '') return 'external_source: a tile needs one';
  if (fields.external_id === '') return 'external_id: a tile needs one';
  if (fields.managed_home) return 'managed_home: a tile uses the home of its parent';
  if (fields.home_base !== null) return 'home_base: a tile uses the home of its parent';
  if (fields.runtime_preset_id !== null) return 'runtime_preset_id: a tile uses the preset of its parent';
  if (Object.keys(fields.runtime_spec).length > 0) return 'runtime_spec: a tile runs what its parent runs';
  return null;
}

/**
 * The allow-list after a write.
 * @param requested the list as sent, duplicates included; undefined: the request contains no list
 * @returns 'keep': the stored list stays; `ids`: the new list; or the reason of the refusal
 */
export function decideAllowList(
  policy: AppsTable['profile_policy'],
  requested: readonly string[] | undefined,
): 'keep' | { ids: string[] } | { refused: string } {
  if (requested === undefined) return policy === 'force' ? { ids: [] } : 'keep';
  const ids = [...new Set(requested)].sort();
  if (policy === 'force' && ids.length > 0) {
    return { refused: 'launchable_profile_ids: must be empty while profile_policy is force' };
  }
  return { ids };
}

/**
 * Refuses launch profiles that people may not choose.
 * @param chosen the request's default profile; null: the request sets none
 * @param known those profiles of the request that people may choose
 * @returns the refusal of the first profile that is not known; null: all profiles are accepted
 */
export function refuseProfiles(
  chosen: string | null,
  listIds: readonly string[],
  known: ReadonlySet<string>,
): string | null {
  const fault = (field: string, id: string) =>
    `${field}: there is no launch profile ${JSON.stringify(id).slice(0, 200)} that people may choose`;
  if (chosen !== null && !known.has(chosen)) return fault('default_profile_id', chosen);
  const missing = listIds.find((id) => !known.has(id));
  return missing === undefined ? null : fault('launchable_profile_ids', missing);
}

/**
 * Whether a write would create an enabled library app while discovery is off.
 * @param patch null: the app is created, which sets all fields
 */
function needsDiscovery(result: AppFields, patch: AppPatch | null): boolean {
  if (result.library_provider === '') return false;
  if (patch === null) return true;
  return result.enabled && (Boolean(patch.library_provider) || patch.enabled === true);
}

/**
 * The refusal of a valid write that conflicts with stored data or settings; null: it is accepted.
 * @param facts.patch null: the app is created, which sets all fields
 * @param facts.hasArtwork an artwork record sets the app's pictures; this fact matters only when the request sets a
 *   cover
 */
export function refuseWrite(facts: {
  result: AppFields;
  patch: AppPatch | null;
  hasArtwork: boolean;
  discoveryEnabled: boolean;
}): { code: ErrorCode; message?: string } | null {
  const { result, patch, hasArtwork, discoveryEnabled } = facts;
  if (patch?.cover_url !== undefined && hasArtwork) {
    const message = 'cover_url: the app has an artwork record, which sets its pictures; clear that first.';
    return { code: 'conflict', message };
  }
  if (!discoveryEnabled && needsDiscovery(result, patch)) return { code: 'library_discovery_disabled' };
  return null;
}
