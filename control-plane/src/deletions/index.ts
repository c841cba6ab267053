export { registerDeletionRoutes } from './routes.ts';
