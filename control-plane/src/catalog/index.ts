export { NEW_APP } from './app-rules.ts';
export { noteCatalogChange, versionReader } from './changes.ts';
export type { DisplayStreams } from './deps.ts';
export { toPresetFields } from './presets/record.ts';
export { registerCatalogRoutes } from './routes.ts';
export { type Catalog, createCatalog } from './service.ts';
export { findEntitledApp, loadAllowLists } from './store.ts';
