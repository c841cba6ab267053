import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import type { Body, RuntimePreset } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { bool, flag, fromJson, instant, toJson } from '../../platform/database/index.ts';
import type { RuntimePresetsTable } from '../../platform/database/tables/catalog.ts';

export type PresetRow = Selectable<RuntimePresetsTable>;

/** Fields of a preset that administrators set. */
export type PresetFields = Pick<
  RuntimePreset,
  | 'name'
  | 'description'
  | 'image'
  | 'args'
  | 'env'
  | 'mounts'
  | 'managed_home'
  | 'home_container_path'
  | 'network'
>;

export const NEW_PRESET: Omit<PresetFields, 'name'> = {
  description: '',
  image: '',
  args: [],
  env: {},
  mounts: [],
  managed_home: false,
  home_container_path: DEFAULT_HOME_PATH,
  network: '',
};

/** The preset with the request's fields applied; missing keys change nothing. */
export function applyPresetPatch(base: PresetFields, patch: Body<'runtimePresets.update'>): PresetFields {
  const next = { ...base };
  for (const key of Object.keys(base) as (keyof PresetFields)[]) {
    if (patch[key] !== undefined) Object.assign(next, { [key]: patch[key] });
  }
  return next;
}

/** Database columns for the fields of a preset. */
export function toPresetColumns(fields: PresetFields) {
  return {
    ...fields,
    args: toJson(fields.args),
    env: toJson(fields.env),
    mounts: toJson(fields.mounts),
    managed_home: flag(fields.managed_home),
  };
}

export function toPresetFields(row: PresetRow): PresetFields {
  return {
    name: row.name,
    description: row.description,
    image: row.image,
    args: fromJson(row.args),
    env: fromJson(row.env),
    mounts: fromJson(row.mounts),
    managed_home: bool(row.managed_home),
    home_container_path: row.home_container_path,
    network: row.network,
  };
}

export function toPreset(row: PresetRow, usedBy: RuntimePreset['used_by']): RuntimePreset {
  return {
    id: row.id,
    ...toPresetFields(row),
    used_by: usedBy,
    created_at: instant(row.created_at),
    updated_at: instant(row.updated_at),
  };
}
