// Pure rules that admission decides by.
export { permits, profileWithoutChoice } from './app-choice.ts';
export { chooseRung, floorOf } from './chain.ts';
export { toCatalogCodec, toSessionCodec } from './codec-spelling.ts';
export {
  type ClientFacts,
  type ClientFailure,
  FAILURE_COUNTS_MS,
  judgeLaunchProfile,
  judgeRung,
} from './eligibility.ts';
export { recommend } from './recommendation.ts';
export { registerProfilesRoutes } from './routes.ts';
export { createProfiles } from './service.ts';
// What admission reads in its own transaction.
export {
  findLaunchProfile,
  listClientFailures,
  listLaunchProfiles,
  loadPolicy,
  loadPreference,
} from './store.ts';
