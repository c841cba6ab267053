import type { Body, InstanceProfilePolicy, ProfilePreferences } from '@footlight/protocol/rest';
import { recordCatalogChange } from '../catalog/index.ts';
import { flag, type Tx } from '../platform/database/index.ts';
import { invalid } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import type { Platform } from '../platform/platform.ts';
import * as store from './store.ts';

/** Default launch profiles for a launch without a choice: the instance's policy, and each person's preference. */
export interface Defaults {
  readPolicy(): Promise<InstanceProfilePolicy>;
  /** @throws 400 for a profile that people may not choose */
  updatePolicy(actor: Caller, patch: Body<'profilePolicy.update'>): Promise<InstanceProfilePolicy>;
  readPreferences(userId: string): Promise<ProfilePreferences>;
  /** @throws 400 for a profile that people may not choose */
  updatePreferences(userId: string, patch: Body<'me.profilePreferences.update'>): Promise<ProfilePreferences>;
}

export function createDefaults(platform: Platform): Defaults {
  const { database, clock, activity } = platform;

  /** @throws 400 with the field's name */
  async function checkChoice(tx: Tx, field: string, id: string): Promise<void> {
    const found = await store.lockUserProfiles(tx, [id]);
    if (!found.has(id)) throw invalid(`${field}: there is no such launch profile that people may choose`);
  }

  async function readPolicy(): Promise<InstanceProfilePolicy> {
    const policy = await store.loadPolicy(database.db);
    return {
      global_default_profile_id: policy.globalDefaultProfileId,
      user_overrides_allowed: policy.userOverridesAllowed,
    };
  }

  async function readPreferences(userId: string): Promise<ProfilePreferences> {
    return {
      default_profile_id: await store.loadPreference(database.db, userId),
      ...(await readPolicy()),
    };
  }

  return {
    readPolicy,
    readPreferences,

    async updatePolicy(actor, patch) {
      const { global_default_profile_id: profileId, user_overrides_allowed: overrides } = patch;
      const keys = Object.keys(patch).sort();
      await database.transaction(async (tx) => {
        await store.lockProfiles(database, tx);
        if (typeof profileId === 'string') await checkChoice(tx, 'global_default_profile_id', profileId);
        if (keys.length === 0) return;
        await store.updatePolicy(tx, {
          ...(profileId !== undefined && { global_default_profile_id: profileId }),
          ...(overrides !== undefined && { user_overrides_allowed: flag(overrides) }),
        });
        await recordCatalogChange(tx, 'everything');
      });
      if (keys.length > 0) {
        await activity.record(actor.userId, 'profile_policy.update', 'profile_policy', { keys });
      }
      return readPolicy();
    },

    async updatePreferences(userId, { default_profile_id: sent }) {
      if (sent !== undefined) {
        const profileId = sent || null;
        await database.transaction(async (tx) => {
          if (profileId !== null) await checkChoice(tx, 'default_profile_id', profileId);
          await store.storePreference(tx, userId, profileId, clock.nowMs());
        });
      }
      return readPreferences(userId);
    },
  };
}
