export { registerStorageRoutes } from './routes.ts';
export { claimHome, foreseeHome, type HomeClaim } from './service.ts';
export { hasHome, loadNewestHomeHost, orphanHomes, storeHomeSize } from './store.ts';
