// Rules that admission uses; they are pure functions.
export { type AppChoice, permits, profileWithoutChoice } from './offer/app-choice.ts';
export {
  type ClientFacts,
  type ClientFailure,
  FAILURE_COUNTS_MS,
  judgeLaunchProfile,
  judgeRung,
  type Rating,
} from './offer/eligibility.ts';
export { nominalOf, numbersSetFor, recommend } from './offer/recommendation.ts';
export type { ProfileWithRungs } from './record.ts';
export { registerProfilesRoutes } from './routes.ts';
export { chooseRung, floorOf } from './rungs/chain.ts';
export { toCatalogCodec, toSessionCodec } from './rungs/codec-spelling.ts';
export { createProfiles } from './service.ts';
// Reads for admission's transaction, and functions that store which streams a device can decode.
export {
  type DecodeKey,
  findLaunchProfile,
  forgetClientFailure,
  listLaunchProfiles,
  loadClientFailures,
  loadPolicy,
  loadPreferences,
  lockRungsShared,
  type Policy,
  storeClientFailure,
} from './store.ts';
