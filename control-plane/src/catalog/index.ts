export { loadVersion, recordCatalogChange } from './changes.ts';
export type { DisplayStreams } from './deps.ts';
export {
  ensureProviderApp,
  hasProviderApp,
  type LibraryProvider,
  type NewProviderApp,
  settleProviderApps,
} from './discovery/provider-apps.ts';
export {
  describeTile,
  disableTiles,
  insertDiscoveredTiles,
  insertProviderGrants,
  lockDiscoveryTiles,
  lockTileGrants,
  revokeProviderGrants,
  revokeProviderGrantsOf,
} from './discovery/store.ts';
export { lockUserShared } from './entitlements/store.ts';
export { type PresetFields, toPresetFields } from './presets/record.ts';
export type { Presets } from './presets/service.ts';
export { type AppRow, toFields } from './record.ts';
export { registerCatalogRoutes } from './routes.ts';
export { type AppFields, NEW_APP } from './rules/app-rules.ts';
export { refuseMounts } from './rules/mount-policy.ts';
export { type Catalog, createCatalog } from './service.ts';
export { findApp, findEntitledApp, loadAllowLists, lockApp, setAppPictures } from './store.ts';
