import type { Body, LaunchProfile, StreamProfile } from '@footlight/protocol/rest';
import { recordCatalogChange } from '../catalog/index.ts';
import type { Executor, Tx } from '../platform/database/index.ts';
import { ApiError, invalid, noSuch } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import { listNames } from '../platform/list-names.ts';
import type { Platform } from '../platform/platform.ts';
import { type LaunchProfileUses, toLaunchProfile } from './record.ts';
import { hasFloor } from './rungs/chain.ts';
import * as store from './store.ts';

type CreateBody = Body<'launchProfiles.create'>;
type UpdateBody = Body<'launchProfiles.update'>;

/** Administrators' operations on launch profiles. */
export interface LaunchProfileAdmin {
  /** All launch profiles of every visibility, sorted by sort_order, then id. */
  list(): Promise<LaunchProfile[]>;
  /** @throws 404 */
  read(id: string): Promise<LaunchProfile>;
  /** @throws 400 for an invalid chain; 409 when the id is taken */
  create(actor: Caller, body: CreateBody): Promise<LaunchProfile>;
  /** @throws 404; 400 for an invalid chain */
  update(actor: Caller, id: string, patch: UpdateBody): Promise<LaunchProfile>;
  /** @throws 404; 409 while the profile is the default of an app, the instance or a person */
  remove(actor: Caller, id: string): Promise<void>;
}

export function createLaunchProfileAdmin(platform: Platform): LaunchProfileAdmin {
  const { database, clock, activity } = platform;

  async function read(id: string): Promise<LaunchProfile> {
    const found = await store.findLaunchProfile(database.db, id);
    if (!found) throw noSuch('launch profile', id);
    return toLaunchProfile(found, (await usesReader(database.db))(id));
  }

  return {
    async list() {
      const uses = await usesReader(database.db);
      const profiles = await store.listLaunchProfiles(database.db);
      return profiles.map((found) => toLaunchProfile(found, uses(found.profile.id)));
    },

    read,

    async create(actor, { rungs, ...fields }) {
      const now = clock.nowMs();
      await database.transaction(async (tx) => {
        await store.lockProfiles(database, tx);
        await checkChain(tx, rungs);
        if (await store.findLaunchProfile(tx, fields.id)) {
          throw new ApiError('conflict', {
            message: `id: there is a launch profile ${JSON.stringify(fields.id)} already.`,
          });
        }
        await store.insertLaunchProfile(tx, { ...fields, created_at: now, updated_at: now });
        await store.replaceChain(tx, fields.id, rungs);
        await recordCatalogChange(tx, 'everything');
      });
      await activity.record(actor.userId, 'launch_profile.create', fields.id, { name: fields.display_name });
      return read(fields.id);
    },

    async update(actor, id, patch) {
      const { rungs, ...fields } = patch;
      const keys = Object.keys(patch).sort();
      await database.transaction(async (tx) => {
        await store.lockProfiles(database, tx);
        if (!(await store.lockLaunchProfile(tx, id))) throw noSuch('launch profile', id);
        if (rungs) await checkChain(tx, rungs);
        if (keys.length === 0) return;
        await store.updateLaunchProfile(tx, id, { ...fields, updated_at: clock.nowMs() });
        if (rungs) await store.replaceChain(tx, id, rungs);
        await recordCatalogChange(tx, 'everything');
      });
      if (keys.length > 0) await activity.record(actor.userId, 'launch_profile.update', id, { keys });
      return read(id);
    },

    async remove(actor, id) {
      const { name, widened } = await database.transaction(async (tx) => {
        await store.lockProfiles(database, tx);
        const profile = await store.lockLaunchProfile(tx, id);
        if (!profile) throw noSuch('launch profile', id);
        const inUse = describeUses((await usesReader(tx))(id));
        if (inUse !== null) {
          throw new ApiError('conflict', { message: `This launch profile is still ${inUse}.` });
        }
        const widened = await store.listAppsLimitedTo(tx, id);
        await store.deleteLaunchProfile(tx, id);
        await recordCatalogChange(tx, 'everything');
        return { name: profile.display_name, widened };
      });
      await activity.record(actor.userId, 'launch_profile.delete', id, {
        name,
        ...(widened.length > 0 && { allow_list_widened_apps: widened }),
      });
    },
  };
}

/** @throws 400 for an unknown rung, or a chain without H.264 */
async function checkChain(tx: Tx, rungIds: readonly string[]): Promise<void> {
  const known = new Map((await store.listRungs(tx)).map((rung) => [rung.id, rung]));
  const chain: StreamProfile[] = [];
  for (const id of rungIds) {
    const rung = known.get(id);
    if (!rung) throw invalid(`rungs: there is no rung ${JSON.stringify(id).slice(0, 200)}`);
    chain.push(rung);
  }
  if (!hasFloor(chain)) throw invalid('rungs: at least one must be of codec h264, which every client plays');
}

/** Reads all references to launch profiles in one step. */
async function usesReader(db: Executor): Promise<(id: string) => LaunchProfileUses> {
  const apps = await store.listAppsByDefault(db);
  const preferences = await store.countPreferences(db);
  const lists = await store.countAllowLists(db);
  const { globalDefaultProfileId } = await store.loadPolicy(db);
  return (id) => ({
    used_by: {
      apps: apps.get(id) ?? [],
      global_default: globalDefaultProfileId === id,
      user_preferences: preferences.get(id) ?? 0,
    },
    allowed_by: lists.get(id) ?? { apps: 0, alone: 0 },
  });
}

/** References that prevent a delete, as a sentence; null: nothing prevents the delete. */
function describeUses({ used_by: uses }: LaunchProfileUses): string | null {
  const parts: string[] = [];
  if (uses.apps.length > 0) parts.push(`the default of ${listNames(uses.apps.map(({ name }) => name))}`);
  if (uses.global_default) parts.push('the default of the instance');
  if (uses.user_preferences === 1) parts.push('the default of one person');
  if (uses.user_preferences > 1) parts.push(`the default of ${uses.user_preferences} people`);
  return parts.length === 0 ? null : parts.join(', and ');
}
