export { registerPreflightRoutes } from './routes.ts';
export { createPreflights } from './service.ts';
