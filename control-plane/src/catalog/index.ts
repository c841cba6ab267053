export { registerCatalogRoutes } from './routes.ts';
export { type Catalog, createCatalog } from './service.ts';
