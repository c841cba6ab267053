export type { Entitlements } from './entitlements/service.ts';
export { registerCatalogRoutes } from './routes.ts';
export { type Catalog, createCatalog } from './service.ts';
export { bumpCatalogVersion, findEntitledApp, loadAllowLists } from './store.ts';
