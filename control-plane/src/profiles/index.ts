// Pure rules that admission decides by.
export { type AppChoice, permits, profileWithoutChoice } from './app-choice.ts';
export { chooseRung, floorOf } from './chain.ts';
export { toCatalogCodec, toSessionCodec } from './codec-spelling.ts';
export {
  type ClientFacts,
  type ClientFailure,
  FAILURE_COUNTS_MS,
  judgeLaunchProfile,
  judgeRung,
  type Verdict,
} from './eligibility.ts';
export { nominalOf, numbersSetFor, recommend } from './recommendation.ts';
export type { Chained } from './record.ts';
export { registerProfilesRoutes } from './routes.ts';
export { createProfiles } from './service.ts';
// What admission reads in its own transaction.
export {
  findLaunchProfile,
  holdRungs,
  listLaunchProfiles,
  loadClientFailures,
  loadPolicy,
  loadPreferences,
  type Policy,
} from './store.ts';
