export { registerActivityRoutes } from './routes.ts';
export { createActivity } from './service.ts';
