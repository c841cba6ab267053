import type { Random } from '@footlight/platform';
import type { Database, Tx } from '../../platform/database/index.ts';
import { invalid } from '../../platform/errors.ts';
import { refuseMounts } from '../rules/mount-policy.ts';
import { NEW_PRESET, type PresetFields, toPresetColumns, toPresetFields } from './record.ts';
import { findPresetByName, insertPreset, lockManagedPreset, updatePreset } from './store.ts';

/** Settings that a catalog image declares for the preset that it owns. */
export interface ManagedPreset {
  imageId: string;
  /** Image name with a digest, or the name of an image built by this service. */
  image: string;
  /** Wanted name of a new preset. If the name is taken, a number is appended. */
  name: string;
  /** All other fields; a missing key gets the default of a new preset. */
  fields: Partial<Omit<PresetFields, 'name' | 'image'>>;
}

/** Names are cut to this length, because the column's limit must also leave room for an appended number. */
const MAX_NAME_CHARACTERS = 120;

/**
 * Creates or updates the preset that an image owns, and locks it. An existing preset keeps its name and description,
 * because administrators may have changed them.
 * @returns the preset's id
 * @throws ApiError 400 for a mount that no app may have; a unique violation when a concurrent transaction uses the same
 *   name
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

/** The wanted name or, if it is taken, the first free one of `name (2)`, `name (3)`, … */
async function freeName(tx: Tx, wanted: string): Promise<string> {
  const base = [...wanted].slice(0, MAX_NAME_CHARACTERS).join('');
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base} (${number})`;
    if ((await findPresetByName(tx, name)) === null) return name;
  }
}
