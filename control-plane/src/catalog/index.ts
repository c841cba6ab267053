export { loadVersion, recordCatalogChange } from './changes.ts';
export type { DisplayStreams } from './deps.ts';
export { toPresetFields } from './presets/record.ts';
export type { Presets } from './presets/service.ts';
export { registerCatalogRoutes } from './routes.ts';
export { NEW_APP } from './rules/app-rules.ts';
export { refuseMounts } from './rules/mount-policy.ts';
export { type Catalog, createCatalog } from './service.ts';
export { findApp, findEntitledApp, loadAllowLists, setAppPictures } from './store.ts';
