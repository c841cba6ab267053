export { registerStorageRoutes } from './routes.ts';
export { claimHome, foreseeHome, type HomeClaim } from './service.ts';
export { hasHome, loadNewestHomeHost, lockHomes, orphanHomes, storeHomeSize } from './store.ts';
