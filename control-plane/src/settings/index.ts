export { registerSettingsRoutes } from './routes.ts';
export { createSecrets, type Secrets } from './secrets.ts';
export { createSettings, type OriginsInForce, type Settings } from './service.ts';
export {
  completeSetup,
  loadRegistrationMode,
  loadSetupCompletedAt,
  loadSetupTokenDigest,
  lockGuestSharing,
  storeSetupTokenDigest,
} from './store.ts';
