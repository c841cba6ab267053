import type { DisplayStreams } from '../catalog/index.ts';
import type { Executor, Tx } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import { createDefaults, type Defaults } from './defaults.ts';
import { createLaunchProfileAdmin, type LaunchProfileAdmin } from './launch-profile-admin.ts';
import { createOffers, type Offers } from './offer/offer.ts';
import { loadDisplayStreams } from './rungs/display-streams.ts';
import { createRungAdmin, type RungAdmin } from './rungs/rung-admin.ts';
import { plantShippedCatalog } from './seed.ts';
import { lockUserProfiles } from './store.ts';

/** Rungs, the launch profiles made of them, what applies without a choice, and what a person is offered. */
export interface Profiles extends Defaults, Offers {
  rungs: RungAdmin;
  launchProfiles: LaunchProfileAdmin;
  /** Puts the shipped catalog in, at the first boot only. */
  plantShipped(): Promise<void>;
  /** Those of the ids that name a launch profile which people may choose, held until the transaction ends. */
  lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>>;
  /** Reads once what a launch of each app would stream where nobody chooses. */
  loadDisplayStreams(db: Executor): Promise<DisplayStreams>;
}

export function createProfiles(platform: Platform): Profiles {
  return {
    ...createDefaults(platform),
    ...createOffers(platform),
    rungs: createRungAdmin(platform),
    launchProfiles: createLaunchProfileAdmin(platform),
    plantShipped: () => plantShippedCatalog(platform),
    lockUserProfiles: (tx, ids) => lockUserProfiles(platform.database, tx, ids),
    loadDisplayStreams,
  };
}
