export { claimHome } from './service.ts';
export { loadNewestHomeHost, orphanHomes, storeHomeSize } from './store.ts';
