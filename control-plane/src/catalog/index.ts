export type { Entitlements } from './entitlements.ts';
export { registerCatalogRoutes } from './routes.ts';
export { type Catalog, createCatalog } from './service.ts';
