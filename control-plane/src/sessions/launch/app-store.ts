/** Apps and presets as a launch needs them. */
import type { AppListItem } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { toPresetFields } from '../../catalog/index.ts';
import { loadRequiredImages, type RequiredImage } from '../../images/index.ts';
import { bool, type Executor, fromJson } from '../../platform/database/index.ts';
import type { AppsTable } from '../../platform/database/tables/catalog.ts';
import { imageName, type PresetFacts, type RuntimeFacts } from '../app-spec.ts';

/** App facts that a launch needs. */
export interface LaunchApp extends RuntimeFacts {
  id: string;
  name: string;
  enabled: boolean;
  parent_app_id: string | null;
  external_source: string;
  external_id: string;
  default_width: number;
  default_height: number;
  default_fps: number;
  default_bitrate_kbps: number;
  default_encode_slots: number;
  default_profile_id: string | null;
  profile_policy: AppListItem['profile_policy'];
  preset: PresetFacts | null;
  /** The catalog image that a host must hold first; null: none, or hosts fetch it on demand. */
  required_image: RequiredImage | null;
}

/** @returns null for an unknown app; a disabled app is returned */
export async function loadLaunchApp(db: Executor, id: string): Promise<LaunchApp | null> {
  return (await loadLaunchApps(db, [id])).get(id) ?? null;
}

/** Batched form of `loadLaunchApp`; unknown apps are missing. */
export async function loadLaunchApps(db: Executor, ids: readonly string[]): Promise<Map<string, LaunchApp>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('apps').selectAll().where('id', 'in', ids).execute();
  const presets = await loadPresets(
    db,
    rows.map((app) => app.runtime_preset_id).filter((id) => id !== null),
  );
  const apps = rows.map((app) => toLaunchApp(app, presets));
  const nameOf = (app: (typeof apps)[number]) => imageName(app, app.preset);
  const images = await loadRequiredImages(db, [...new Set(apps.map(nameOf))]);
  return new Map(apps.map((app) => [app.id, { ...app, required_image: images.get(nameOf(app)) ?? null }]));
}

/** Enabled apps of this name, the oldest first. */
export async function loadEnabledAppsNamed(db: Executor, name: string): Promise<LaunchApp[]> {
  const rows = await db
    .selectFrom('apps')
    .select('id')
    .where('name', '=', name)
    .where('enabled', '=', 1)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const apps = await loadLaunchApps(
    db,
    rows.map(({ id }) => id),
  );
  return rows.flatMap(({ id }) => apps.get(id) ?? []);
}

function toLaunchApp(
  app: Selectable<AppsTable>,
  presets: ReadonlyMap<string, PresetFacts>,
): Omit<LaunchApp, 'required_image'> {
  return {
    id: app.id,
    name: app.name,
    enabled: bool(app.enabled),
    parent_app_id: app.parent_app_id,
    external_source: app.external_source,
    external_id: app.external_id,
    default_width: app.default_width,
    default_height: app.default_height,
    default_fps: app.default_fps,
    default_bitrate_kbps: app.default_bitrate_kbps,
    default_encode_slots: app.default_encode_slots,
    default_profile_id: app.default_profile_id,
    profile_policy: app.profile_policy,
    runtime_spec: fromJson(app.runtime_spec),
    managed_home: bool(app.managed_home),
    home_container_path: app.home_container_path,
    preset: presets.get(app.runtime_preset_id ?? '') ?? null,
  };
}

async function loadPresets(db: Executor, ids: readonly string[]): Promise<Map<string, PresetFacts>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('runtime_presets').selectAll().where('id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.id, toPresetFields(row)]));
}
