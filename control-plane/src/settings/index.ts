export { createSettings, type OriginsInForce, type Settings } from './service.ts';
export {
  completeSetup,
  loadRegistrationMode,
  loadSetupCompletedAt,
  loadSetupTokenDigest,
  storeSetupTokenDigest,
} from './store.ts';
