/** Reads the apps and presets that launches need. */
import { type AppFields, type AppRow, toFields, toPresetFields } from '../../catalog/index.ts';
import { loadRequiredImages, type RequiredImage } from '../../images/index.ts';
import type { Executor } from '../../platform/database/index.ts';
import { imageName, type PresetFacts } from '../app-spec.ts';

/** An app with the fields that a launch needs. */
export interface LaunchApp extends AppFields {
  id: string;
  preset: PresetFacts | null;
  /**
   * The catalog image that a host must have before the launch; null: the app needs none, or hosts fetch it on demand.
   */
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

/** Enabled apps with this name, the oldest first. */
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
  app: AppRow,
  presets: ReadonlyMap<string, PresetFacts>,
): Omit<LaunchApp, 'required_image'> {
  return {
    id: app.id,
    ...toFields(app),
    preset: presets.get(app.runtime_preset_id ?? '') ?? null,
  };
}

async function loadPresets(db: Executor, ids: readonly string[]): Promise<Map<string, PresetFacts>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('runtime_presets').selectAll().where('id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.id, toPresetFields(row)]));
}
