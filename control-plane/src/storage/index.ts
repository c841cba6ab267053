export { type CollectedHome, createStorage } from './collection.ts';
export { registerStorageRoutes } from './routes.ts';
export { claimHome, dropNewHome, type HomeClaim, previewHome } from './service.ts';
export {
  hasHome,
  loadNewestHomeHost,
  lockHomes,
  orphanHomes,
  releaseHomesOfApp,
  storeHomeSize,
} from './store.ts';
