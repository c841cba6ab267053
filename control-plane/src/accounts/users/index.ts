export { removeUser } from './removal.ts';
export { registerUserRoutes } from './routes.ts';
export { createUsers, type Users } from './service.ts';
export { listExpiredUsers } from './store.ts';
