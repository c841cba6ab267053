import type { DisplayStreams } from '../catalog/index.ts';
import type { Executor, Tx } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import { createDefaults, type Defaults } from './defaults.ts';
import { createLaunchProfileAdmin, type LaunchProfileAdmin } from './launch-profile-admin.ts';
import { createOffers, type Offers } from './offer/offer.ts';
import { loadDisplayStreams } from './rungs/display-streams.ts';
import { createRungAdmin, type RungAdmin } from './rungs/rung-admin.ts';
import { seedShippedCatalog } from './seed.ts';
import { lockUserProfiles } from './store.ts';

/** Rungs, launch profiles, defaults and offers. */
export interface Profiles extends Defaults, Offers {
  rungs: RungAdmin;
  launchProfiles: LaunchProfileAdmin;
  /** Stores the shipped catalog at the first boot. */
  seedShipped(): Promise<void>;
  /**
   * Returns the given ids whose launch profiles people may choose, and locks these profiles until the transaction ends.
   */
  lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>>;
  /** Reads in one step the streams of launches without a choice, for all apps of a list. */
  loadDisplayStreams(db: Executor): Promise<DisplayStreams>;
}

export function createProfiles(platform: Platform): Profiles {
  return {
    ...createDefaults(platform),
    ...createOffers(platform),
    rungs: createRungAdmin(platform),
    launchProfiles: createLaunchProfileAdmin(platform),
    seedShipped: () => seedShippedCatalog(platform),
    lockUserProfiles: (tx, ids) => lockUserProfiles(tx, ids),
    loadDisplayStreams,
  };
}
