export { registerStorageRoutes } from './routes.ts';
export { claimHome } from './service.ts';
export { loadNewestHomeHost, orphanHomes, storeHomeSize } from './store.ts';
