export { registerWebhookRoutes } from './routes.ts';
export { createWebhook } from './service.ts';
