import type { Body, RuntimePreset } from '@footlight/protocol/rest';
import { onUniqueViolation, type Tx } from '../../platform/database/index.ts';
import { ApiError, invalid, noSuch } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import { listNames } from '../../platform/list-names.ts';
import type { Platform } from '../../platform/platform.ts';
import { refuseMounts } from '../rules/mount-policy.ts';
import { isManagedImage } from './managed-image.ts';
import { keepManagedPreset, type ManagedPreset } from './managed-preset.ts';
import {
  applyPresetPatch,
  NEW_PRESET,
  type PresetRow,
  toPreset,
  toPresetColumns,
  toPresetFields,
} from './record.ts';
import * as store from './store.ts';

/** Maximum number of apps that the message of a refused deletion names. */
const MAX_NAMED_APPS = 5;

/**
 * Start settings that several apps share. Every launch reads the preset again, so a change applies to the next launch.
 */
export interface Presets {
  list(): Promise<RuntimePreset[]>;
  /** @throws 404 */
  read(presetId: string): Promise<RuntimePreset>;
  /** @throws 400 for a refused mount, 409 when the name is taken */
  create(actor: Caller, body: Body<'runtimePresets.create'>): Promise<RuntimePreset>;
  /**
   * @throws 400 for a refused mount, 404, 409 when the name is taken, 422 for an image that a managed preset may not
   *   use
   */
  update(actor: Caller, presetId: string, patch: Body<'runtimePresets.update'>): Promise<RuntimePreset>;
  /** @throws 404, 409 while an app refers to the preset */
  remove(actor: Caller, presetId: string): Promise<void>;
  /** Creates or updates the preset that an image owns. @returns the preset's id @throws 400 for a refused mount */
  keepManaged(tx: Tx, managed: ManagedPreset): Promise<string>;
}

export function createPresets(platform: Platform): Presets {
  const { database, clock, random, activity } = platform;

  async function withUsers(row: PresetRow): Promise<RuntimePreset> {
    const users = await store.listPresetUsers(database.db, row.id);
    return toPreset(
      row,
      users.map(({ id, name }) => ({ id, name })),
    );
  }

  async function read(presetId: string): Promise<RuntimePreset> {
    const row = await store.findPreset(database.db, presetId);
    if (row === null) throw noSuch('runtime preset', presetId);
    return withUsers(row);
  }

  return {
    read,

    async list() {
      const rows = await store.listPresets(database.db);
      const users = await store.listPresetUsers(database.db, null);
      return rows.map((row) =>
        toPreset(
          row,
          users.filter((app) => app.runtime_preset_id === row.id).map(({ id, name }) => ({ id, name })),
        ),
      );
    },

    async create(actor, body) {
      refuseBadMounts(body.mounts);
      const id = random.uuid();
      const now = clock.nowMs();
      await onUniqueViolation(
        nameTaken,
        database.transaction((tx) =>
          store.insertPreset(tx, {
            ...toPresetColumns(applyPresetPatch({ ...NEW_PRESET, name: body.name }, body)),
            id,
            managed_image_id: null,
            created_at: now,
            updated_at: now,
          }),
        ),
      );
      await activity.record(actor.userId, 'runtime_preset.create', id, { name: body.name });
      return read(id);
    },

    async update(actor, presetId, patch) {
      refuseBadMounts(patch.mounts);
      const keys = Object.keys(patch).sort();
      await onUniqueViolation(
        nameTaken,
        database.transaction(async (tx) => {
          const row = await store.lockPreset(tx, presetId);
          if (row === null) throw noSuch('runtime preset', presetId);
          const fields = applyPresetPatch(toPresetFields(row), patch);
          const holder = await store.findPresetByName(tx, fields.name);
          if (holder !== null && holder !== presetId) throw nameTaken();
          if (row.managed_image_id !== null && !isManagedImage(row.managed_image_id, fields.image)) {
            throw new ApiError('managed_preset_image_invalid', {
              message: `image: this preset belongs to the image ${row.managed_image_id} of the catalog, so its image must be named by a digest (@sha256:…) or be service-local/${row.managed_image_id}:…`,
            });
          }
          if (keys.length === 0) return;
          await store.updatePreset(tx, presetId, { ...toPresetColumns(fields), updated_at: clock.nowMs() });
        }),
      );
      if (keys.length > 0) {
        await activity.record(actor.userId, 'runtime_preset.update', presetId, { keys });
      }
      return read(presetId);
    },

    keepManaged: (tx, managed) => keepManagedPreset({ database, random }, tx, managed, clock.nowMs()),

    async remove(actor, presetId) {
      const name = await database.transaction(async (tx) => {
        const row = await store.lockPreset(tx, presetId);
        if (row === null) throw noSuch('runtime preset', presetId);
        const users = await store.listPresetUsers(tx, presetId);
        if (users.length > 0) throw stillUsed(users.map((app) => app.name));
        await store.deletePreset(tx, presetId);
        return row.name;
      });
      await activity.record(actor.userId, 'runtime_preset.delete', presetId, { name });
    },
  };
}

function refuseBadMounts(mounts: readonly string[] | undefined): void {
  const why = refuseMounts('mounts', mounts);
  if (why !== null) throw invalid(why);
}

const nameTaken = () => new ApiError('conflict', { message: 'name: another preset has this name.' });

function stillUsed(names: readonly string[]): ApiError {
  return new ApiError('conflict', {
    message: `Apps use this preset: ${listNames(names, MAX_NAMED_APPS)}. Give them another one first.`,
  });
}
