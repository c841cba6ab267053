export { registerDiscoveryRoutes } from './routes.ts';
export { createDiscovery, type Discovery, type DiscoveryDeps } from './service.ts';
