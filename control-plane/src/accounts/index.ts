export type { AccountsDeps } from './deps.ts';
export { type Probe, type ProbeFacts, readProbe } from './devices/probe.ts';
export { loadLatestProbe } from './devices/store.ts';
export { registerAccountsRoutes } from './routes.ts';
export { createAccounts } from './service.ts';
