export { registerStorageRoutes } from './routes.ts';
export { claimHome, foreseeHome } from './service.ts';
export { hasHome, loadNewestHomeHost, orphanHomes, storeHomeSize } from './store.ts';
