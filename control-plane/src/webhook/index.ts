export { registerWebhookRoutes } from './routes.ts';
export { createWebhook, deleteOldEvents } from './service.ts';
