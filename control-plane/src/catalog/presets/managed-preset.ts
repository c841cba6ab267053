import type { Random } from '@footlight/platform';
import type { Database, Tx } from '../../platform/database/index.ts';
import { invalid } from '../../platform/errors.ts';
import { refuseMounts } from '../rules/mount-policy.ts';
import { NEW_PRESET, type PresetFields, toPresetColumns, toPresetFields } from './record.ts';
import { findPresetByName, insertPreset, lockManagedPreset, updatePreset } from './store.ts';

/** What an image of the catalog says about the preset that it owns. */
export interface ManagedPreset {
  imageId: string;
  /** By its digest, or built here. */
  image: string;
  /** Wanted name of a new preset; a taken one gets a number. */
  name: string;
  /** Everything else; missing keys have the defaults of a new preset. */
  fields: Partial<Omit<PresetFields, 'name' | 'image'>>;
}

/** Columns of names end there; the number of a taken name needs some of them. */
const MAX_NAME_CHARACTERS = 120;

/**
 * Makes the preset that an image owns, or rewrites it. Name and description of an existing one stay, because
 * administrators may have changed them. Locks the preset.
 * @returns its id
 * @throws ApiError 400 for a mount that no app may have; a unique violation when another preset takes the name meanwhile
 */
export async function keepManagedPreset(
  deps: { database: Database; random: Random },
  tx: Tx,
  managed: ManagedPreset,
  nowMs: number,
): Promise<string> {
  const { imageId, image, fields } = managed;
  const why = refuseMounts('mounts', fields.mounts);
  if (why !== null) throw invalid(why);
  const row = await lockManagedPreset(tx, imageId);
  if (row !== null) {
    const { name, description } = toPresetFields(row);
    const next = { ...NEW_PRESET, ...fields, name, description, image };
    await updatePreset(tx, row.id, { ...toPresetColumns(next), updated_at: nowMs });
    return row.id;
  }
  const id = deps.random.uuid();
  const name = await freeName(tx, managed.name);
  await insertPreset(tx, {
    ...toPresetColumns({ ...NEW_PRESET, ...fields, name, image }),
    id,
    managed_image_id: imageId,
    created_at: nowMs,
    updated_at: nowMs,
  });
  return id;
}

/** The wanted name, or the first of `name (2)`, `name (3)`, … that is free. */
async function freeName(tx: Tx, wanted: string): Promise<string> {
  const base = [...wanted].slice(0, MAX_NAME_CHARACTERS).join('');
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base} (${number})`;
    if ((await findPresetByName(tx, name)) === null) return name;
  }
}
