export { registerStorageRoutes } from './routes.ts';
export { claimHome } from './service.ts';
export { hasHome, loadNewestHomeHost, orphanHomes, storeHomeSize } from './store.ts';
