import type { Insertable, Updateable } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type { RuntimePresetsTable } from '../../platform/database/tables/catalog.ts';
import type { PresetRow } from './record.ts';

/** All presets, sorted by name. */
export function listPresets(db: Executor): Promise<PresetRow[]> {
  return db.selectFrom('runtime_presets').selectAll().orderBy('name').execute();
}

export async function findPreset(db: Executor, id: string): Promise<PresetRow | null> {
  return (await db.selectFrom('runtime_presets').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Locks the preset against changes and new references until the transaction ends. */
export async function lockPreset(tx: Tx, id: string): Promise<PresetRow | null> {
  const query = tx.selectFrom('runtime_presets').selectAll().where('id', '=', id);
  return (await query.forNoKeyUpdate().executeTakeFirst()) ?? null;
}

/** Locks the preset that an image of the catalog owns. */
export async function lockManagedPreset(tx: Tx, imageId: string): Promise<PresetRow | null> {
  const query = tx.selectFrom('runtime_presets').selectAll().where('managed_image_id', '=', imageId);
  return (await query.forNoKeyUpdate().executeTakeFirst()) ?? null;
}

/** Whether the preset exists; it cannot be deleted until the transaction ends. */
export async function lockPresetShared(tx: Tx, id: string): Promise<boolean> {
  const query = tx.selectFrom('runtime_presets').select('id').where('id', '=', id);
  return (await query.forShare().executeTakeFirst()) !== undefined;
}

export async function findPresetByName(tx: Tx, name: string): Promise<string | null> {
  const row = await tx.selectFrom('runtime_presets').select('id').where('name', '=', name).executeTakeFirst();
  return row?.id ?? null;
}

/** Apps that use a preset, sorted by name. @param presetId null: apps of all presets */
export function listPresetUsers(
  db: Executor,
  presetId: string | null,
): Promise<{ id: string; name: string; runtime_preset_id: string | null }[]> {
  const query = db
    .selectFrom('apps')
    .select(['id', 'name', 'runtime_preset_id'])
    .orderBy('name')
    .orderBy('id');
  return (
    presetId === null
      ? query.where('runtime_preset_id', 'is not', null)
      : query.where('runtime_preset_id', '=', presetId)
  ).execute();
}

export async function insertPreset(tx: Tx, row: Insertable<RuntimePresetsTable>): Promise<void> {
  await tx.insertInto('runtime_presets').values(row).execute();
}

export async function updatePreset(
  tx: Tx,
  id: string,
  columns: Updateable<RuntimePresetsTable>,
): Promise<void> {
  await tx.updateTable('runtime_presets').set(columns).where('id', '=', id).execute();
}

export async function deletePreset(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('runtime_presets').where('id', '=', id).execute();
}
