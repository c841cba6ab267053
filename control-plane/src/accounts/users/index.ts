export { removeUser } from './removal.ts';
export { listExpiredUsers } from './store.ts';
