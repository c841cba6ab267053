export type { AccountsDeps } from './deps.ts';
export { registerAccountsRoutes } from './routes.ts';
export { createAccounts } from './service.ts';
